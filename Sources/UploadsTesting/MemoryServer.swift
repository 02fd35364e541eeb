internal import Foundation
internal import Streams
public import Uploads

/// An S3 server in memory: it stores whole objects and their ETags, and honours conditional requests.
///
/// It does not check signatures and has no multipart uploads.
///
/// ```swift
/// import Uploads
///
/// let server = MemoryServer()
/// server.intercept { request in request.method == "PUT" ? S3Response(status: 503) : nil }
/// let client = S3Client(try S3Endpoint("http://host"), transport: server)
/// let object = try await client.head(bucket: "bucket", key: "key", credentials: MemoryServer.credentials)
/// print(object == nil, server.writes(of: "bucket/key"))  // true 0
/// ```
public final class MemoryServer: S3Transport {
  private struct State {
    var objects: [String: [UInt8]] = [:]
    var writes: [String: Int] = [:]
    var before: @Sendable (S3Request) throws -> S3Response? = { _ in nil }
    var after: @Sendable (S3Request) throws -> Void = { _ in }
  }

  /// The credentials for requests in tests; the server accepts any.
  public static let credentials = S3Credentials(accessKey: "KEY", secretKey: "SECRET")
  private let state = Lock(State())

  /// Creates a server without objects.
  public init() {}

  /// Returns the bytes of an object; `nil` if it does not exist.
  /// - Parameter name: The bucket and the key, joined by a slash.
  public func object(_ name: String) -> [UInt8]? { state.withLock { $0.objects["/\(name)"] } }

  /// Returns the number of times that clients have created or replaced an object.
  /// - Parameter name: The bucket and the key, joined by a slash.
  public func writes(of name: String) -> Int { state.withLock { $0.writes["/\(name)", default: 0] } }

  /// Stores an object as another client would; ``writes(of:)`` does not count it.
  /// - Parameters:
  ///   - bytes: The content of the object.
  ///   - name: The bucket and the key, joined by a slash.
  public func put(_ bytes: some Sequence<UInt8>, as name: String) {
    let bytes = Array(bytes)
    state.withLock { $0.objects["/\(name)"] = bytes }
  }

  /// Sets a closure that runs before each request; its response or error takes the place of the server's.
  public func intercept(_ body: @escaping @Sendable (S3Request) throws -> S3Response?) {
    state.withLock { $0.before = body }
  }

  /// Sets a closure that runs after each request was carried out; its error takes the place of the response.
  public func afterwards(_ body: @escaping @Sendable (S3Request) throws -> Void) { state.withLock { $0.after = body } }

  /// Carries out a request on the objects in memory.
  /// - Throws: The error of an interceptor; an error of reading the request's file.
  public func send(_ request: S3Request, _ progress: S3Progress) async throws -> S3Response {
    let (before, after) = state.withLock { ($0.before, $0.after) }
    if let response = try before(request) { return response }
    let response = try carryOut(request, progress)
    try after(request)
    return response
  }

  private func carryOut(_ request: S3Request, _ progress: S3Progress) throws -> S3Response {
    let present = state.withLock { $0.objects[request.path] }
    switch request.method {
    case "PUT":
      let condition = request.headers.first { ["If-None-Match", "If-Match"].contains($0.name) }
      let isMet =
        condition.map { $0.name == "If-Match" ? $0.value == present.map(Self.etag) : present == nil } ?? true
      guard isMet else { return Self.refusal(412, "PreconditionFailed") }
      let bytes = try Self.bytes(of: request.body)
      state.withLock { state in
        state.objects[request.path] = bytes
        state.writes[request.path, default: 0] += 1
      }
      bytes.withUnsafeBytes(progress.sent)
      return S3Response(status: 200, headers: ["etag": Self.etag(bytes)])
    case "GET" where request.query.isEmpty, "HEAD":
      guard let present else { return Self.refusal(404, "NoSuchKey") }
      if request.method == "GET", let received = progress.received { present.withUnsafeBytes(received) }
      return S3Response(status: 200, headers: ["etag": Self.etag(present), "content-length": "\(present.count)"])
    default: return S3Response(status: 200, body: Data("<ListMultipartUploadsResult/>".utf8))
    }
  }

  private static func bytes(of body: S3Request.Body) throws -> [UInt8] {
    switch body {
    case .none: []
    case .bytes(let data): Array(data)
    case .file(let slice): try Array(Data(contentsOf: URL(filePath: slice.path)))
    }
  }

  private static func etag(_ bytes: [UInt8]) -> String { "\"\(Digests.md5(of: bytes).hex)\"" }

  /// Returns the response to a request that the server refuses.
  /// - Parameters:
  ///   - status: The HTTP status, such as 403.
  ///   - code: The error code of S3, such as `AccessDenied`.
  public static func refusal(_ status: Int, _ code: String) -> S3Response {
    S3Response(status: status, body: Data("<Error><Code>\(code)</Code></Error>".utf8))
  }
}
