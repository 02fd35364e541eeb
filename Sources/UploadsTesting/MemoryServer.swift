internal import Foundation
internal import Streams
public import Uploads

/// An S3 server in memory: it stores objects and their ETags, also in parts, and keeps conditions or ignores them.
///
/// It does not check signatures.
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
  /// A kind of request beside which a server may ignore the condition that no object exists.
  public enum Creation: Sendable, Hashable, CaseIterable {
    /// `PUT` of a whole object, as `rclone serve s3` ignores the condition.
    case put
    /// `CompleteMultipartUpload`, as Ceph ignores the condition.
    case complete
  }

  private struct State {
    var objects: [String: (bytes: [UInt8], etag: String)] = [:]
    /// The parts of each multipart upload that is not complete, by its ID.
    var uploads: [String: [Int: [UInt8]]] = [:]
    var uploadCount = 0
    var ignored: Set<Creation> = []
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
  public func object(_ name: String) -> [UInt8]? { state.withLock { $0.objects["/\(name)"]?.bytes } }

  /// The number of multipart uploads that are neither complete nor aborted.
  public var unfinishedUploads: Int { state.withLock { $0.uploads.count } }

  /// Ignores the condition that no object exists beside some kinds of requests from now on.
  public func ignoreConditions(of creations: Set<Creation>) { state.withLock { $0.ignored = creations } }

  /// Removes an object as another client would.
  /// - Parameter name: The bucket and the key, joined by a slash.
  public func remove(_ name: String) { state.withLock { $0.objects["/\(name)"] = nil } }

  /// Returns the number of times that clients have created or replaced an object.
  /// - Parameter name: The bucket and the key, joined by a slash.
  public func writes(of name: String) -> Int { state.withLock { $0.writes["/\(name)", default: 0] } }

  /// Stores an object as another client would; ``writes(of:)`` does not count it.
  /// - Parameters:
  ///   - bytes: The content of the object.
  ///   - name: The bucket and the key, joined by a slash.
  public func put(_ bytes: some Sequence<UInt8>, as name: String) {
    let bytes = Array(bytes)
    state.withLock { $0.objects["/\(name)"] = (bytes, Self.etag(bytes)) }
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
    let query = Dictionary(request.query.map { ($0.name, $0.value) }) { first, _ in first }
    let present = state.withLock { $0.objects[request.path] }
    switch (request.method, query["uploadId"]) {
    case ("POST", nil): return beginUpload()
    case (_, let id?): return try carryOut(request, upload: id, part: query["partNumber"].flatMap { Int($0) }, progress)
    case ("PUT", nil):
      guard isAllowed(request, .put) else { return Self.refusal(412, "PreconditionFailed") }
      let bytes = try Self.bytes(of: request.body)
      store(bytes, etag: Self.etag(bytes), as: request.path)
      bytes.withUnsafeBytes(progress.sent)
      return S3Response(status: 200, headers: ["etag": Self.etag(bytes)])
    case ("GET", _) where request.query.isEmpty, ("HEAD", _):
      guard let present else { return Self.refusal(404, "NoSuchKey") }
      if let limit = progress.receivedLimit, Int64(present.bytes.count) > limit {
        throw UploadsError(.unexpectedResponse, "the response has more than \(limit) bytes", status: 200)
      }
      if request.method == "GET", let received = progress.received { present.bytes.withUnsafeBytes(received) }
      return S3Response(
        status: 200, headers: ["etag": present.etag, "content-length": "\(present.bytes.count)"])
    default:
      let text = "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>"
      return S3Response(status: 200, body: Data(text.utf8))
    }
  }

  /// Returns whether the conditions beside a request are met, or ignored.
  private func isAllowed(_ request: S3Request, _ creation: Creation) -> Bool {
    let (present, isIgnored) = state.withLock { ($0.objects[request.path], $0.ignored.contains(creation)) }
    guard let condition = request.headers.first(where: { ["If-None-Match", "If-Match"].contains($0.name) }) else {
      return true
    }
    if condition.name == "If-Match" { return condition.value == present?.etag }
    return isIgnored || present == nil
  }

  private func store(_ bytes: [UInt8], etag: String, as path: String) {
    state.withLock { state in
      state.objects[path] = (bytes, etag)
      state.writes[path, default: 0] += 1
    }
  }

  private func beginUpload() -> S3Response {
    let id = state.withLock { state in
      state.uploadCount += 1
      state.uploads["upload\(state.uploadCount)"] = [:]
      return "upload\(state.uploadCount)"
    }
    let text = "<InitiateMultipartUploadResult><UploadId>\(id)</UploadId></InitiateMultipartUploadResult>"
    return S3Response(status: 200, body: Data(text.utf8))
  }

  /// Carries out a request that belongs to a multipart upload.
  private func carryOut(
    _ request: S3Request, upload id: String, part number: Int?, _ progress: S3Progress
  ) throws -> S3Response {
    guard let parts = state.withLock({ $0.uploads[id] }) else { return Self.refusal(404, "NoSuchUpload") }
    if request.method == "PUT", let number {
      let bytes = try Self.bytes(of: request.body)
      state.withLock { $0.uploads[id]?[number] = bytes }
      bytes.withUnsafeBytes(progress.sent)
      return S3Response(status: 200, headers: ["etag": Self.etag(bytes)])
    }
    if request.method == "POST" {
      guard isAllowed(request, .complete) else { return Self.refusal(412, "PreconditionFailed") }
      let ordered = parts.sorted { $0.key < $1.key }.map(\.value)
      let etag = "\"\(Digests.md5(of: ordered.flatMap { Digests.md5(of: $0) }).hex)-\(ordered.count)\""
      store(ordered.reduce(into: []) { $0 += $1 }, etag: etag, as: request.path)
      state.withLock { $0.uploads[id] = nil }
      let text = "<CompleteMultipartUploadResult><ETag>\(etag)</ETag></CompleteMultipartUploadResult>"
      return S3Response(status: 200, body: Data(text.utf8))
    }
    state.withLock { $0.uploads[id] = nil }
    return S3Response(status: 204)
  }

  private static func bytes(of body: S3Request.Body) throws -> [UInt8] {
    switch body {
    case .none: []
    case .bytes(let data): Array(data)
    case .file(let slice):
      try Array(Data(contentsOf: URL(filePath: slice.path)).dropFirst(Int(slice.offset)).prefix(Int(slice.length)))
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
