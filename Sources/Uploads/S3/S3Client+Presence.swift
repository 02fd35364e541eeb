internal import FoundationEssentials
internal import Streams

/// Whether a server has an object, by proof and not by name.
public enum ObjectPresence: Sendable, Hashable {
  /// There is none of this key.
  case absent
  /// The bytes are the file's.
  case same
  /// There is another one.
  /// - Parameter isOurs: whether it was meant to be this file: its metadata has the file's checksum.
  case different(isOurs: Bool)
}

extension S3Client {
  /// Finds out whether the server has a file's bytes under a key: by the checksum that the server keeps; else by the
  /// MD5 in its ETag, of the whole or of the parts; else by reading the object back.
  ///
  /// Only a checksum of the server's own counts as proof. The one that the uploader noted in the metadata says what was
  /// meant to be there.
  /// - Throws: ``UploadsError``; `.fileChanged` when the local file is not what it was.
  public func presence(
    of content: ObjectContent, plan: UploadPlan = UploadPlan(), bucket: String, key: String,
    credentials: S3Credentials
  ) async throws -> ObjectPresence {
    guard let stored = try await head(bucket: bucket, key: key, credentials: credentials) else { return .absent }
    let isOurs = stored.claimedSHA256 == content.sha256
    guard stored.size == content.size else { return .different(isOurs: isOurs) }
    if let checksum = stored.checksum, let sum = [UInt8](hex: content.sha256), !checksum.contains("-") {
      return checksum == Data(sum).base64EncodedString() ? .same : .different(isOurs: isOurs)
    }
    do {
      if let md5 = stored.md5 {
        return try Self.digests(of: content).md5.hex == md5 ? .same : .different(isOurs: isOurs)
      }
      if !stored.isEncrypted, stored.etag.contains("-") {
        let parts = UploadPlan.parts(of: content.size, length: plan.partLength(for: content.size))
        if try Self.etag(of: content, parts: parts) == stored.etag.lowercased() { return .same }
      }
    } catch let error as UploadsError where error.code == .fileMissing {
      // Removed since it was delivered, as far as that is known: what the server has is read.
    }
    let digests = Lock(Digests())
    try await get(bucket: bucket, key: key, credentials: credentials) { bytes in digests.withLock { $0.add(bytes) } }
    return digests.withLock { $0.sha256.hex } == content.sha256 ? .same : .different(isOurs: isOurs)
  }

  /// The same for an item of a queue.
  public func presence(of item: UploadItem, credentials: S3Credentials) async throws -> ObjectPresence {
    let request = item.request
    return try await presence(
      of: request.content, bucket: request.bucket, key: request.key, credentials: credentials)
  }

  /// The sums of a file that is to be what it was when it was queued.
  private static func digests(of content: ObjectContent) throws -> Digests {
    let digests = try Digests(of: FileSlice(path: content.path, length: content.size))
    guard digests.sha256.hex == content.sha256 else { throw changed(content) }
    return digests
  }

  /// The ETag that an object of these parts has: the MD5 of their MD5s, and how many they are.
  private static func etag(of content: ObjectContent, parts: [Range<Int64>]) throws -> String {
    var (whole, sums) = (Digests(), [UInt8]())
    for part in parts {
      var digests = Digests()
      try FileReading.read(FileSlice(path: content.path, offset: part.lowerBound, length: Int64(part.count))) {
        digests.add($0)
        whole.add($0)
      }
      sums += digests.md5
    }
    guard whole.sha256.hex == content.sha256 else { throw changed(content) }
    return Digests.md5(of: sums).hex + "-\(parts.count)"
  }
}
