import OutgoingHTTP
import Testing

@Suite("Addresses of HTTP servers") struct HTTPAddressTests {
  @Test(
    "An address has an origin and a path",
    arguments: [
      ("http://127.0.0.1:8080", "http://127.0.0.1:8080", ""), ("HTTPS://host/", "https://host", ""),
      ("https://host/proxy/", "https://host", "/proxy"), ("http://[::1]:11434/a/b", "http://[::1]:11434", "/a/b"),
    ])
  func parts(_ url: String, _ origin: String, _ path: String) throws {
    let address = try HTTPAddress(url)
    #expect(address.origin == origin)
    #expect(address.path == path)
    #expect(address.text == origin + path)
  }

  @Test(
    "A text that is no address is refused with the reason",
    arguments: [
      ("", HTTPAddress.Fault.notHTTP), ("host:80", .notHTTP), ("ftp://host", .notHTTP), ("http://", .notHTTP),
      ("http://host/?key=1", .notHTTP), ("http://host/#top", .notHTTP), ("http://ada@host", .credentials),
      ("https://ada:pass@host:99999", .credentials), ("http://host:0", .port), ("http://host:65536", .port),
      ("http://host:99999999999999999999", .port),
    ])
  func faults(_ url: String, _ fault: HTTPAddress.Fault) {
    #expect(throws: fault) { try HTTPAddress(url) }
  }
}
