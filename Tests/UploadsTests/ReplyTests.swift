import DeterministicTesting
import Foundation
import Streams
import SystemTesting
import Testing
import UploadsTesting

@testable import Uploads

/// The responses of servers, and the requests that follow from them.
@Suite("Responses of servers", .computing) struct ReplyTests {
  @Test("A server without room for the account is told from one that forbids")
  func quotasHaveWords() {
    let body = "<Error><Code>QuotaExceeded</Code><Message>so</Message></Error>"
    let request = S3Request("PUT", authority: "host", path: "/b/k")
    let error = UploadsError(S3Response(status: 403, body: Data(body.utf8)), to: request)
    #expect(error.code == .quotaExceeded)
    #expect(FailureKind(error) == .permission)
    #expect(
      error.description
        == "quota of the server exceeded: PUT https://host/b/k: status 403 (QuotaExceeded: so) "
        + "(remove objects, or raise the quota of the account or bucket on the server)")
  }

  @Test("Each error of a server has a code and a consequence") func errorsAreSorted() {
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
      let error = UploadsError(S3Response(status: status, body: Data(body.utf8)), to: request)
      #expect(error.code == code, "\(name)")
      #expect(error.serverCode == name)
      #expect(FailureKind(error) == kind, "\(name)")
    }
    // A response that is not one of S3 fails no item for good.
    for status in [301, 307, 400, 404, 410] {
      let error = UploadsError(S3Response(status: status, body: Data("<html/>".utf8)), to: request)
      #expect(FailureKind(error) == .temporary, "\(status)")
    }
    #expect(FailureKind(UploadsError(S3Response(status: 500), to: request)) == .temporary)
    // Without a body the cause may be the credentials: the item waits for others.
    let head = S3Request("HEAD", authority: "host", path: "/b/k")
    for (status, kind) in [(400, FailureKind.permission), (401, .credentials), (403, .permission), (404, .final)] {
      #expect(FailureKind(UploadsError(S3Response(status: status), to: head)) == kind, "\(status)")
    }
    #expect(FailureKind(POSIXError(.EIO)) == .temporary)
  }

  /// AWS has a host for each region; any other server has one host.
  @Test(
    "A bucket in another region is addressed there",
    arguments: [
      (
        "https://s3.us-east-1.amazonaws.com", "bucket.s3.us-east-1.amazonaws.com",
        "bucket.s3.eu-central-1.amazonaws.com"
      ),
      ("https://store.example", "bucket.store.example", "bucket.store.example"),
    ]) func anotherRegionIsAskedThere(_ url: String, _ first: String, _ second: String) async throws
  {
    let asked = Lock<[String]>([])
    let server = MemoryServer()
    server.intercept { request in
      let scope = request.headers.first { $0.name == "Authorization" }?.value.split(separator: "/")[2] ?? ""
      asked.withLock { $0.append("\(request.authority) \(scope)") }
      return scope == "eu-central-1" ? nil : S3Response(status: 301, headers: ["x-amz-bucket-region": "eu-central-1"])
    }
    let client = S3Client(try S3Endpoint(url, region: "us-east-1", addressing: .virtualHost), transport: server)
    for _ in 0..<2 {
      #expect(try await client.head(bucket: "bucket", key: "k", credentials: MemoryServer.credentials) == nil)
    }
    let told = ["\(first) us-east-1", "\(second) eu-central-1", "\(second) eu-central-1"]
    #expect(asked.withLock { $0 } == told)
    // Only hosts of AWS.
    let aws = try S3Endpoint(awsRegion: "us-east-1")
    let request = aws.request("GET", bucket: "bucket")
    #expect(aws.authority(of: request, in: "evil.example#") == "bucket.s3.us-east-1.amazonaws.com")
    // The scope of the credentials may name the region.
    asked.withLock { $0 = [] }
    var credentials = MemoryServer.credentials
    credentials.scope = S3Scope(bucket: "other", region: "eu-central-1")
    #expect(try await client.head(bucket: "other", key: "k", credentials: credentials) == nil)
    #expect(asked.withLock { $0 } == ["\(second.replacing("bucket", with: "other")) eu-central-1"])
  }

  @Test("A list of multipart uploads on several pages is read to its end") func unfinishedUploadsOnSeveralPages()
    async throws
  {
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
      return S3Response(status: 200, body: Data(body.utf8))
    }
    let client = S3Client(try S3Endpoint("http://host"), transport: server)
    let uploads = try await client.unfinishedUploads(bucket: "bucket", credentials: MemoryServer.credentials)
    #expect(uploads.map(\.key) == ["a b", "c"])
    #expect(uploads.map(\.uploadID) == ["id", "id"])
  }

  @Test("XML of servers is read, and malformed XML is refused") func xmlAsServersWriteIt() {
    let text = """
      \u{feff}<?xml version="1.0" encoding="UTF-8"?>
      <!-- a remark -->
      <s3:List xmlns="http://s3.amazonaws.com/doc/2006-03-01/" a='b>
      '><Key>a&lt;&amp;&#x1F600;&#10;<![CDATA[<raw>]]></Key><Empty/><Item><Size>5</Size></Item></s3:List>
      """.replacing("\n'>", with: "'>").replacing("'b>'", with: "'b'")
    let root = XMLElement(Data(text.utf8))
    #expect(root?.name == "List")
    #expect(root?["Key"] == "a<&😀\n<raw>")
    #expect(root?["Empty"] == "")
    #expect(root?.all("Item").first?["Size"] == "5")
    for bad in [
      "", "x", "<a>", "<a></b>", "<a/><b/>", "<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", "<a>&x;</a>", "<a>&lt</a>",
      "<a><!-- </a>", "<a", "<>x</>", "</a>", "<a>&#xD800;</a>", String(repeating: "<a>", count: 10_000),
    ] {
      #expect(XMLElement(Data(bad.utf8)) == nil, "\(bad.prefix(20))")
    }
    #expect(XMLElement(Data("<a>\("<&>\"'".xmlEscaped)</a>".utf8))?.text == "<&>\"'")
  }

  @Test("No bytes make the XML parser trap") func anyBytes() {
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

  @Test("Endpoints address buckets in the path or in the host") func addresses() throws {
    let aws = try S3Endpoint(awsRegion: "eu-central-1")
    #expect(aws.request("GET", bucket: "b", key: "k").url == "https://b.s3.eu-central-1.amazonaws.com/k")
    #expect(aws.request("GET", bucket: "b").url == "https://b.s3.eu-central-1.amazonaws.com/")
    // A certificate for *.host does not cover a.b.host.
    #expect(aws.request("GET", bucket: "b.c", key: "k").url == "https://s3.eu-central-1.amazonaws.com/b.c/k")
    let own = try S3Endpoint("http://[::1]:8333/", region: "x")
    #expect(own.request("GET", bucket: "b", key: "ä b+c").url == "http://[::1]:8333/b/%C3%A4%20b%2Bc")
    #expect(try S3Endpoint("HTTPS://Host:443").url == "https://host")
    for bad in ["", "host", "ftp://host", "http://", "http://u:p@host", "http://host/path", "http://host?q"] {
      #expect(throws: UploadsError.self, "\(bad)") { try S3Endpoint(bad) }
    }
    #expect(throws: UploadsError.self) { try S3Endpoint("http://host", region: "a/b") }
  }

  @Test("A file has parts from the threshold on, and at most 10,000") func partsOfAFile() {
    let plan = UploadPlan()
    #expect(plan.parts(of: 16 << 20 - 1) == [])
    #expect(plan.parts(of: 0) == [])
    #expect(plan.parts(of: 20 << 20).map(\.count) == [5 << 20, 5 << 20, 5 << 20, 5 << 20])
    #expect(plan.parts(of: 48 << 20).map(\.count) == Array(repeating: 6 << 20, count: 8))
    #expect(plan.parts(of: 65 << 20).map(\.count) == Array(repeating: 8 << 20, count: 8) + [1 << 20])
    let largest = plan.parts(of: 5 << 40)
    #expect(largest.count <= 10_000)
    #expect(largest.last?.upperBound == 5 << 40)
    #expect(UploadPlan(threshold: 1, partLength: 1).parts(of: 5 << 20 + 1).count == 2)
  }

  @Test("An object in parts is known by its ETag, in this plan's lengths or in all of 8 MiB", arguments: [5, 8])
  func objectsInPartsAreKnown(_ mebibytes: Int) async throws {
    let size = 17 << 20
    let folder = try TemporaryFolder()
    let content = try ObjectContent(readingFile: try folder.file("talk", size, seed: 1))
    let bytes = Array(try Data(contentsOf: URL(filePath: content.path)))
    let sums = stride(from: 0, to: size, by: mebibytes << 20).map { start in
      Digests.md5(of: Array(bytes[start..<min(start + mebibytes << 20, size)]))
    }
    let etag = "\"\(Digests.md5(of: sums.flatMap { $0 }).hex)-\(sums.count)\""
    let server = MemoryServer()
    server.intercept { request in
      request.method == "HEAD"
        ? S3Response(status: 200, headers: ["etag": etag, "content-length": "\(size)"])
        : MemoryServer.refusal(403, "AccessDenied")
    }
    let client = S3Client(try S3Endpoint("http://host"), transport: server)
    let found = try await client.presence(
      of: content, bucket: "bucket", key: "talk", credentials: MemoryServer.credentials)
    #expect(found == .same)
  }
}
