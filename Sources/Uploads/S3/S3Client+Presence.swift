internal import FoundationEssentials
internal import Streams

/// The result of comparing an object on the server with a local file, by content and not by name.
public enum ObjectPresence: Sendable, Hashable {
  /// The server has no object of this key.
  case absent
  /// The object has the same bytes as the file.
  case same
  /// The object has other bytes than the file.
  /// - Parameter isOurs: A Boolean value that indicates whether the object was meant to be this file: its metadata has
  ///   the file's checksum.
  case different(isOurs: Bool)
}

extension S3Client {
  /// Returns whether the server has a file's bytes under a key.
  ///
  /// The proof is the checksum that the server keeps; else the MD5 in the ETag, of the whole or of the parts; else the
  /// object itself, which is read back. The checksum in the metadata proves nothing, because the uploader wrote it.
  /// - Parameters:
  ///   - content: The local file.
  ///   - plan: The plan by which the object was sent in parts.
  ///   - bucket: The bucket of the object.
  ///   - key: The key of the object.
  ///   - credentials: The credentials to sign with.
  /// - Throws: ``UploadsError``; with code `.fileChanged` if the local file has changed; `CancellationError`.
  public func presence(
    of content: ObjectContent, plan: UploadPlan = UploadPlan(), bucket: String, key: String,
    credentials: S3Credentials
  ) async throws -> ObjectPresence {
    guard let stored = try await head(bucket: bucket, key: key, credentials: credentials) else { return .absent }
    let isOurs = stored.claimedSHA256 == content.sha256
    guard stored.size == content.size else { return .different(isOurs: isOurs) }
    // The checksum of an object in parts is one of the parts' checksums, with their number (AWS) or without (moto).
    let isInParts = stored.etag.contains("-") || stored.checksum?.contains("-") == true
    if let checksum = stored.checksum, let sum = [UInt8](hex: content.sha256), !isInParts {
      return checksum == Data(sum).base64EncodedString() ? .same : .different(isOurs: isOurs)
    }
    do {
      if let md5 = stored.md5 {
        return try Self.digests(of: content).md5.hex == md5 ? .same : .different(isOurs: isOurs)
      }
      let count = stored.etag.split(separator: "-").dropFirst().last.flatMap { Int($0) }
      if !stored.isEncrypted, let count {
        for parts in plan.possibleParts(of: content.size, count: count)
        where try Self.etag(of: content, parts: parts) == stored.etag.lowercased() { return .same }
      }
    } catch let error as UploadsError where error.code == .fileMissing {
      // The file was removed after delivery, as far as is known: the object is read instead.
    }
    let digests = Lock(Digests())
    try await get(bucket: bucket, key: key, credentials: credentials) { bytes in digests.withLock { $0.add(bytes) } }
    return digests.withLock { $0.sha256.hex } == content.sha256 ? .same : .different(isOurs: isOurs)
  }

  /// Returns the checksums of a file, which must be the one that was queued.
  private static func digests(of content: ObjectContent) throws -> Digests {
    let digests = try Digests(of: FileSlice(path: content.path, length: content.size))
    guard digests.sha256.hex == content.sha256 else { throw changed(content) }
    return digests
  }

  /// Returns the ETag of an object of these parts: the MD5 of their MD5s, and their number.
  private static func etag(of content: ObjectContent, parts: [Range<Int64>]) throws -> String {
    var whole = Digests()
    var sums: [UInt8] = []
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
