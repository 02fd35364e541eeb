internal import FoundationEssentials
internal import Streams

extension S3Client {
  /// The largest object that is read into memory, in bytes.
  static let smallObjectLimit: Int64 = 16 << 20

  /// Reads a small object, such as a manifest, into memory.
  /// - Throws: ``UploadsError`` with code `.unexpectedResponse` for a larger object.
  func bytes(
    bucket: String, key: String, limit: Int64 = smallObjectLimit, credentials: S3Credentials
  ) async throws -> Data {
    let data = Lock(Data())
    try await get(bucket: bucket, key: key, limit: limit, credentials: credentials) { bytes in
      data.withLock { $0.append(contentsOf: bytes) }
    }
    return data.withLock { $0 }
  }

  /// Creates a small object or replaces a known version of it, and returns when the server has proven to have it.
  /// - Parameters:
  ///   - data: The bytes of the object.
  ///   - contentType: The media type of the object.
  ///   - etag: The ETag of the version to replace; `nil` if the object did not exist.
  ///   - bucket: The bucket of the object.
  ///   - key: The key of the object.
  ///   - credentials: The credentials to sign with.
  /// - Returns: `false` if another client has created, replaced or removed the object meanwhile. A server without
  ///   conditional requests does not detect that.
  func put(
    _ data: Data, contentType: String, over etag: String?, bucket: String, key: String, credentials: S3Credentials
  ) async throws -> Bool {
    let digests = Digests(of: data)
    let sum = digests.sha256
    let md5 = digests.md5
    let checksum = Data(sum).base64EncodedString()
    func send(_ more: [(name: String, value: String)]) async throws -> S3Response {
      let request = endpoint.request(
        "PUT", bucket: bucket, key: key,
        headers: [("Content-Type", contentType), ("x-amz-checksum-sha256", checksum)] + more, body: .bytes(data))
      return try await perform(request, bucket: bucket, payload: sum.hex, credentials: credentials)
    }
    let response: S3Response
    do {
      let condition = etag.map { (name: "If-Match", value: "\"\($0)\"") } ?? (name: "If-None-Match", value: "*")
      if let conditioned = try await conditional(on: condition, send) {
        response = conditioned
      } else {
        response = try await send([])
      }
    } catch let error as UploadsError where error.code == .alreadyExists || error.serverCode == "NoSuchKey" {
      return false
    }
    let stored = try Self.stored(response, size: Int64(data.count), "PUT")
    let isSame =
      if let returned = stored.checksum {
        returned == checksum
      } else if let returned = stored.md5 {
        returned == md5.hex
      } else {
        try await bytes(bucket: bucket, key: key, credentials: credentials) == data
      }
    guard isSame else { throw Self.differs(key) }
    return true
  }
}
