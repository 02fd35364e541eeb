import Foundation
import Streams
import Testing
import UploadsTesting

@testable import Uploads

/// What a client learns from the responses of a server that does not announce it.
@Suite("What a client learns about a server") struct LearningTests {
  private let server = MemoryServer()

  /// `rclone serve s3` refuses what is signed for another hour, and does not say why.
  @Test(
    "A skew without its error code is kept when the server accepts it",
    arguments: ["AccessDenied", "SignatureDoesNotMatch"])
  func aSkewIsTried(_ code: String) async throws {
    let client = S3Client(try S3Endpoint("http://host"), transport: server, unixMs: { 1_700_000_000_000 })
    let count = Lock(0)
    server.intercept { request in
      count.withLock { $0 += 1 }
      let date = request.headers.first { $0.name.lowercased() == "x-amz-date" }?.value
      if date?.hasPrefix("20231114T23") == true { return nil }
      var refusal = MemoryServer.refusal(403, code)
      refusal.headers["date"] = "Tue, 14 Nov 2023 23:13:20 GMT"
      return refusal
    }
    server.put([1], as: "bucket/k")
    for _ in 0..<2 {
      #expect(try await client.bytes(bucket: "bucket", key: "k", credentials: MemoryServer.credentials) == Data([1]))
    }
    #expect(client.clockSkew == 3600)
    #expect(count.withLock { $0 } == 3)
  }

  /// Swift keeps `If-None-Match` beside a `PUT`, and answers `If-Match` with 501.
  @Test("A condition that is refused keeps no other from being sent") func conditionsAreKnownOneByOne() async throws {
    let client = S3Client(try S3Endpoint("http://host"), transport: server)
    server.intercept { request in
      request.headers.contains { $0.name == "If-Match" } ? MemoryServer.refusal(501, "NotImplemented") : nil
    }
    func put(over etag: String?, _ key: String) async throws -> Bool {
      try await client.put(
        Data("x".utf8), contentType: "text/plain", over: etag, bucket: "bucket", key: key,
        credentials: MemoryServer.credentials)
    }
    #expect(try await put(over: nil, "one"))
    #expect(try await put(over: "0", "one"))
    #expect(try await !put(over: nil, "one"))
    #expect(client.condition.mayBeKept)
  }
}
