import DeterministicTesting
import Foundation
import Streams
import Testing

@testable import Uploads

/// What servers answer, and what is made of it.
@Suite struct ReplyTests {
  @Test func errorsAreSorted() {
    let kinds: [(Int, String, UploadsError.Code, FailureKind)] = [
      (503, "SlowDown", .busy, .temporary), (400, "RequestTimeout", .busy, .temporary),
      (403, "RequestTimeTooSkewed", .clockSkew, .temporary), (400, "ExpiredToken", .badCredentials, .credentials),
      (400, "InvalidToken", .badCredentials, .credentials), (403, "AccessDenied", .forbidden, .permission),
      (404, "NoSuchBucket", .notFound, .final), (400, "EntityTooLarge", .refused, .final),
      (412, "PreconditionFailed", .alreadyExists, .final), (409, "OperationAborted", .busy, .temporary),
      (200, "InternalError", .busy, .temporary), (400, "BadDigest", .corrupted, .temporary),
    ]
    let request = S3Request("PUT", authority: "host", path: "/b/k")
    for (status, name, code, kind) in kinds {
      let body = "<?xml version=\"1.0\"?>\n<Error><Code>\(name)</Code><Message>so</Message></Error>"
      let error = UploadsError(S3Answer(status: status, body: Data(body.utf8)), to: request)
      #expect(error.code == code && error.serverCode == name && FailureKind(error) == kind, "\(name)")
    }
    // What does not speak S3 decides nothing.
    for status in [301, 307, 400, 404, 410] {
      let error = UploadsError(S3Answer(status: status, body: Data("<html/>".utf8)), to: request)
      #expect(FailureKind(error) == .temporary, "\(status)")
    }
    #expect(FailureKind(UploadsError(S3Answer(status: 500), to: request)) == .temporary)
    // No body can say that it is the credentials: the item waits for others.
    let head = S3Request("HEAD", authority: "host", path: "/b/k")
    for (status, kind) in [(400, FailureKind.permission), (401, .credentials), (403, .permission), (404, .final)] {
      #expect(FailureKind(UploadsError(S3Answer(status: status), to: head)) == kind, "\(status)")
    }
    #expect(FailureKind(POSIXError(.EIO)) == .temporary)
  }

  /// AWS has a host for each region; another server has one address, whatever its region is called.
  @Test(arguments: [
    ("https://s3.us-east-1.amazonaws.com", "bucket.s3.us-east-1.amazonaws.com", "bucket.s3.eu-central-1.amazonaws.com"),
    ("https://store.example", "bucket.store.example", "bucket.store.example"),
  ]) func anotherRegionIsAskedThere(_ url: String, _ first: String, _ second: String) async throws {
    let asked = Lock<[String]>([])
    let server = MemoryServer()
    server.intercept { request in
      let scope = request.headers.first { $0.name == "Authorization" }?.value.split(separator: "/")[2] ?? ""
      asked.withLock { $0.append("\(request.authority) \(scope)") }
      return scope == "eu-central-1" ? nil : S3Answer(status: 301, headers: ["x-amz-bucket-region": "eu-central-1"])
    }
    let client = S3Client(try S3Endpoint(url, region: "us-east-1", addressing: .virtualHost), transport: server)
    for _ in 0..<2 {
      #expect(try await client.head(bucket: "bucket", key: "k", credentials: MemoryServer.credentials) == nil)
    }
    let told = ["\(first) us-east-1", "\(second) eu-central-1", "\(second) eu-central-1"]
    #expect(asked.withLock { $0 } == told)
    // No other host than AWS's.
    let aws = try S3Endpoint(awsRegion: "us-east-1")
    let request = aws.request("GET", bucket: "bucket")
    #expect(aws.authority(of: request, in: "evil.example#") == "bucket.s3.us-east-1.amazonaws.com")
    // Who gives the credentials may know it before.
    asked.withLock { $0 = [] }
    var credentials = MemoryServer.credentials
    credentials.scope = S3Scope(bucket: "other", region: "eu-central-1")
    #expect(try await client.head(bucket: "other", key: "k", credentials: credentials) == nil)
    #expect(asked.withLock { $0 } == ["\(second.replacing("bucket", with: "other")) eu-central-1"])
  }

  @Test func unfinishedUploadsOnSeveralPages() async throws {
    let server = MemoryServer()
    server.intercept { request in
      let marker = request.query.first { $0.name == "key-marker" }?.value
      let page = { (key: String, next: String) in
        """
        <ListMultipartUploadsResult><EncodingType>url</EncodingType>\(next)<Upload><Key>\(key)</Key>
        <UploadId>id</UploadId><Initiated>2026-11-22T00:00:00.000Z</Initiated></Upload></ListMultipartUploadsResult>
        """
      }
      let more = "<IsTruncated>true</IsTruncated><NextKeyMarker>a+b</NextKeyMarker>"
      let body = marker == nil ? page("a+b", more) : page(marker == "a b" ? "c" : "wrong", "")
      return S3Answer(status: 200, body: Data(body.utf8))
    }
    let client = S3Client(try S3Endpoint("http://host"), transport: server)
    let uploads = try await client.unfinishedUploads(bucket: "bucket", credentials: MemoryServer.credentials)
    #expect(uploads.map(\.key) == ["a b", "c"] && uploads.allSatisfy { $0.uploadID == "id" })
  }

  @Test func xmlAsServersWriteIt() {
    let text = """
      \u{feff}<?xml version="1.0" encoding="UTF-8"?>
      <!-- a remark -->
      <s3:List xmlns="http://s3.amazonaws.com/doc/2006-03-01/" a='b>
      '><Key>a&lt;&amp;&#x1F600;&#10;<![CDATA[<raw>]]></Key><Empty/><Item><Size>5</Size></Item></s3:List>
      """.replacing("\n'>", with: "'>").replacing("'b>'", with: "'b'")
    let root = XMLElement(Data(text.utf8))
    #expect(root?.name == "List" && root?["Key"] == "a<&😀\n<raw>" && root?["Empty"] == "")
    #expect(root?.all("Item").first?["Size"] == "5")
    for bad in [
      "", "x", "<a>", "<a></b>", "<a/><b/>", "<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", "<a>&x;</a>", "<a>&lt</a>",
      "<a><!-- </a>", "<a", "<>x</>", "</a>", "<a>&#xD800;</a>", String(repeating: "<a>", count: 10_000),
    ] {
      #expect(XMLElement(Data(bad.utf8)) == nil, "\(bad.prefix(20))")
    }
    #expect(XMLElement(Data("<a>\("<&>\"'".xmlEscaped)</a>".utf8))?.text == "<&>\"'")
  }

  /// Whatever bytes come, nothing traps.
  @Test func anyBytes() {
    var random = SeededGenerator(seed: 7)
    let good = Array("<a b=\"c\"><d>e&amp;&#65;<![CDATA[f]]></d><!-- g --><h/></a>".utf8)
    var read = 0
    for _ in 0..<20_000 {
      var bytes = good
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[place] = UInt8.random(in: .min ... .max, using: &random)
        case 1: bytes.removeSubrange(place..<min(place + 3, bytes.count))
        default: bytes.insert(contentsOf: bytes[place...].prefix(5), at: 0)
        }
        if bytes.isEmpty { bytes = good }
      }
      if XMLElement(Data(bytes)) != nil { read += 1 }
    }
    #expect(read > 0)
  }

  @Test func addresses() throws {
    let aws = try S3Endpoint(awsRegion: "eu-central-1")
    #expect(aws.request("GET", bucket: "b", key: "k").url == "https://b.s3.eu-central-1.amazonaws.com/k")
    #expect(aws.request("GET", bucket: "b").url == "https://b.s3.eu-central-1.amazonaws.com/")
    // A certificate for *.host is not good for a.b.host.
    #expect(aws.request("GET", bucket: "b.c", key: "k").url == "https://s3.eu-central-1.amazonaws.com/b.c/k")
    let own = try S3Endpoint("http://[::1]:8333/", region: "x")
    #expect(own.request("GET", bucket: "b", key: "ä b+c").url == "http://[::1]:8333/b/%C3%A4%20b%2Bc")
    #expect(try S3Endpoint("HTTPS://Host:443").address == "https://host")
    for bad in ["", "host", "ftp://host", "http://", "http://u:p@host", "http://host/path", "http://host?q"] {
      #expect(throws: UploadsError.self, "\(bad)") { try S3Endpoint(bad) }
    }
    #expect(throws: UploadsError.self) { try S3Endpoint("http://host", region: "a/b") }
  }

  @Test func partsOfAFile() {
    let plan = UploadPlan()
    #expect(plan.parts(of: 16 << 20 - 1) == [] && plan.parts(of: 0) == [])
    #expect(plan.parts(of: 20 << 20).map(\.count) == [8 << 20, 8 << 20, 4 << 20])
    let largest = plan.parts(of: 5 << 40)
    #expect(largest.count <= 10_000 && largest.last?.upperBound == 5 << 40)
    #expect(UploadPlan(threshold: 1, partLength: 1).parts(of: 5 << 20 + 1).count == 2)
  }
}
