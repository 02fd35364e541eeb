internal import FoundationEssentials
internal import Streams

extension S3Client {
  /// Reads a small object into memory.
  func bytes(bucket: String, key: String, credentials: S3Credentials) async throws -> Data {
    let data = Lock(Data())
    try await get(bucket: bucket, key: key, credentials: credentials) { bytes in
      data.withLock { $0.append(contentsOf: bytes) }
    }
    return data.withLock { $0 }
  }

  /// Makes a small object, or replaces the one that is known, and returns when it is proven that the server has it.
  /// - Parameters:
  ///   - data: its content.
  ///   - contentType: its media type.
  ///   - etag: of the one that may be replaced; `nil` when there was none.
  ///   - bucket: where it is.
  ///   - key: under which name.
  ///   - credentials: who makes it.
  /// - Returns: `false` when somebody else has made, replaced or removed it meanwhile. A server that knows no conditions
  ///   does not notice.
  func put(
    _ data: Data, contentType: String, over etag: String?, bucket: String, key: String, credentials: S3Credentials
  ) async throws -> Bool {
    let digests = Digests(of: data)
    let (sum, md5) = (digests.sha256, digests.md5)
    let checksum = Data(sum).base64EncodedString()
    func send(_ more: [(name: String, value: String)]) async throws -> S3Answer {
      let request = endpoint.request(
        "PUT", bucket: bucket, key: key,
        headers: [("Content-Type", contentType), ("x-amz-checksum-sha256", checksum)] + more, body: .bytes(data))
      return try await perform(request, bucket: bucket, payload: sum.hex, credentials: credentials)
    }
    let answer: S3Answer
    do {
      let condition = etag.map { (name: "If-Match", value: "\"\($0)\"") } ?? (name: "If-None-Match", value: "*")
      if let conditioned = try await conditional(on: condition, send) {
        answer = conditioned
      } else {
        answer = try await send([])
      }
    } catch let error as UploadsError where error.code == .alreadyExists || error.serverCode == "NoSuchKey" {
      return false
    }
    let stored = try Self.stored(answer, size: Int64(data.count), "PUT")
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
