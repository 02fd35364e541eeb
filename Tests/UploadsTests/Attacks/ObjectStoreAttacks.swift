import Foundation
import Testing
import UploadsTesting

@testable import Uploads

/// Object stores that return too much, or lie about the time.
@Suite("Object stores that deceive") struct ObjectStoreAttacks {
  private let server = MemoryServer()

  private func client(_ unixMs: Int64 = 1_700_000_000_000) throws -> S3Client {
    S3Client(try S3Endpoint("http://host"), transport: server, unixMs: { unixMs })
  }

  @Test("A manifest longer than its limit is not read into memory") func aLongManifestIsRefused() async throws {
    let client = try client()
    server.put([UInt8](repeating: 10, count: Int(Manifest.sizeLimit)), as: "bucket/whole")
    server.put([UInt8](repeating: 10, count: Int(Manifest.sizeLimit) + 1), as: "bucket/long")
    let whole = try await client.bytes(bucket: "bucket", key: "whole", credentials: MemoryServer.credentials)
    #expect(whole.count == Int(Manifest.sizeLimit))
    let error = await #expect(throws: UploadsError.self) {
      try await client.bytes(bucket: "bucket", key: "long", credentials: MemoryServer.credentials)
    }
    #expect(error?.code == .unexpectedResponse)
  }

  private static let year9999 = "Fri, 31 Dec 9999 23:59:59 GMT"
  private static let later = "Tue, 14 Nov 2023 23:13:20 GMT"

  private static func error(_ code: String, _ date: String) -> S3Response {
    S3Response(status: 403, headers: ["date": date], body: Data("<Error><Code>\(code)</Code></Error>".utf8))
  }

  @Test(
    "A server moves the date of signatures only with the error code for it, and by a day at most",
    arguments: [
      (error("AccessDenied", year9999), 0), (error("RequestTimeTooSkewed", year9999), 0),
      (S3Response(status: 403, headers: ["date": year9999]), 0), (error("AccessDenied", later), 0),
      (error("RequestTimeTooSkewed", later), 3600),
      (error("RequestTimeTooSkewed", "Wed, 15 Nov 2023 21:13:20 GMT"), 23 * 3600),
      (error("RequestTimeTooSkewed", "Mon, 13 Nov 2023 23:13:20 GMT"), -23 * 3600),
      (error("RequestTimeTooSkewed", "Wed, 15 Nov 2023 23:13:20 GMT"), 0),
      (error("RequestTimeTooSkewed", "Mon, 13 Nov 2023 21:13:20 GMT"), 0),
    ] as [(S3Response, Int64)])
  func onlyASkewedClockIsCorrected(response: S3Response, skew: Int64) async throws {
    let client = try client()
    server.intercept { _ in response }
    await #expect(throws: UploadsError.self) {
      try await client.bytes(bucket: "bucket", key: "k", credentials: MemoryServer.credentials)
    }
    #expect(client.clockSkew == skew)
  }
}
