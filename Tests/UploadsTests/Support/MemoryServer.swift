import Foundation
import Streams

@testable import Uploads

/// A server of S3 that has everything in memory: whole objects, their ETags, and conditions.
final class MemoryServer: S3Transport {
  private struct State {
    var objects: [String: Data] = [:]
    var written: [String: Int] = [:]
    var before: @Sendable (S3Request) throws -> S3Answer? = { _ in nil }
    var after: @Sendable (S3Request) throws -> Void = { _ in }
  }

  static let credentials = S3Credentials(accessKey: "KEY", secretKey: "SECRET")
  private let state = Lock(State())

  /// What is there, by bucket and key: `bucket/key`.
  func object(_ name: String) -> Data? { state.withLock { $0.objects["/\(name)"] } }

  /// How often something was made or replaced.
  func writes(of name: String) -> Int { state.withLock { $0.written["/\(name)", default: 0] } }

  /// Somebody else writes.
  func put(_ data: Data, as name: String) { state.withLock { $0.objects["/\(name)"] = data } }

  /// Has requests answered by somebody else first, or not at all.
  func intercept(_ body: @escaping @Sendable (S3Request) throws -> S3Answer?) { state.withLock { $0.before = body } }

  /// Runs when a request was carried out; what it throws is what the client hears.
  func afterwards(_ body: @escaping @Sendable (S3Request) throws -> Void) { state.withLock { $0.after = body } }

  func send(_ request: S3Request, _ progress: S3Progress) async throws -> S3Answer {
    let (before, after) = state.withLock { ($0.before, $0.after) }
    if let answer = try before(request) { return answer }
    let answer = try carryOut(request, progress)
    try after(request)
    return answer
  }

  private func carryOut(_ request: S3Request, _ progress: S3Progress) throws -> S3Answer {
    let present = state.withLock { $0.objects[request.path] }
    switch request.method {
    case "PUT":
      let condition = request.headers.first { ["If-None-Match", "If-Match"].contains($0.name) }
      let mayBe =
        condition.map { $0.name == "If-Match" ? $0.value == present.map(Self.etag) : present == nil } ?? true
      guard mayBe else { return Self.refusal(412, "PreconditionFailed") }
      let data =
        switch request.body {
        case .none: Data()
        case .bytes(let data): data
        case .file(let slice): try Data(contentsOf: URL(filePath: slice.path))
        }
      state.withLock { state in
        state.objects[request.path] = data
        state.written[request.path, default: 0] += 1
      }
      data.withUnsafeBytes(progress.sent)
      return S3Answer(status: 200, headers: ["etag": Self.etag(data)])
    case "GET" where request.query.isEmpty, "HEAD":
      guard let present else { return Self.refusal(404, "NoSuchKey") }
      if request.method == "GET", let received = progress.received { present.withUnsafeBytes(received) }
      return S3Answer(status: 200, headers: ["etag": Self.etag(present), "content-length": "\(present.count)"])
    default: return S3Answer(status: 200, body: Data("<ListMultipartUploadsResult/>".utf8))
    }
  }

  private static func etag(_ data: Data) -> String { "\"\(Digests.md5(of: Array(data)).hex)\"" }

  static func refusal(_ status: Int, _ code: String) -> S3Answer {
    S3Answer(status: status, body: Data("<Error><Code>\(code)</Code></Error>".utf8))
  }
}

extension Lock where State == Bool {
  /// What it was; from now on `false`.
  func take() -> Bool {
    withLock { value in
      defer { value = false }
      return value
    }
  }
}
