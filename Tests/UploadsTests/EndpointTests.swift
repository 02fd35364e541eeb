import Testing
import UploadsTesting

@testable import Uploads

@Suite("URLs of servers") struct EndpointTests {
  @Test("A port that no server can have is refused", arguments: ["0", "65536", "99999", "99999999999999999999"])
  func impossiblePorts(port: String) {
    for host in ["127.0.0.1", "[::1]", "store.example"] {
      let url = "http://\(host):\(port)"
      let error = #expect(throws: UploadsError.self) { try S3Endpoint(url) }
      #expect(error?.code == .invalidArgument)
      #expect(error?.message == "the endpoint is “\(url)”; allowed: a port from 1 to 65535")
      let service = #expect(throws: UploadsError.self) {
        try TokenServiceCredentials(url: url, transport: MemoryServer()) { "token" }
      }
      #expect(service?.message == "the service is “\(url)”; allowed: a port from 1 to 65535")
    }
  }

  @Test("The first and the last port are allowed") func possiblePorts() throws {
    #expect(try S3Endpoint("http://host:1").authority == "host:1")
    #expect(try S3Endpoint("https://host:65535").authority == "host:65535")
    #expect(try S3Endpoint("https://host:").authority == "host")
  }

  @Test(
    "A user name and password are refused and not quoted",
    arguments: [
      "http://ada:MARKED@host", "http://ada:MARKED@host:99999", "http://ada:MARKED@host:x", "ftp://a:MARKED@h",
    ])
  func userInformation(url: String) {
    let error = #expect(throws: UploadsError.self) { try S3Endpoint(url) }
    #expect(error?.message.contains("a URL with a user name or password") == true)
    #expect(error?.description.contains("MARKED") == false)
    let service = #expect(throws: UploadsError.self) {
      try TokenServiceCredentials(url: url, transport: MemoryServer()) { "token" }
    }
    #expect(service?.message.contains("a URL with a user name or password") == true)
    #expect(service?.description.contains("MARKED") == false)
  }
}
