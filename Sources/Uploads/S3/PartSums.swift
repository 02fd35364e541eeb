internal import Crypto
internal import FoundationEssentials

/// The SHA-256 checksums of a file's parts.
///
/// They are computed together with the file's own checksum, so that no connection waits for a second read, and so that
/// the parts together are the file that was queued.
public struct PartSums: Sendable, Hashable, Codable {
  /// The length of each part but the last, in bytes.
  public let length: Int64
  /// The checksums of all parts, 32 bytes each.
  private let bytes: Data

  init(length: Int64, _ sums: [[UInt8]]) {
    self.length = length
    bytes = Data(sums.joined())
  }

  /// The number of parts.
  var count: Int { bytes.count / SHA256Digest.byteCount }

  /// The checksum of a part, by its index.
  subscript(index: Int) -> [UInt8] {
    let start = bytes.startIndex + index * SHA256Digest.byteCount
    return Array(bytes[start..<(start + SHA256Digest.byteCount)])
  }
}

extension ObjectContent {
  /// Creates a description of a file: reads all of it, and makes it durable.
  /// - Parameters:
  ///   - path: The absolute path of the file.
  ///   - contentType: The media type of the object.
  ///   - metadata: The metadata of the object, by lowercase name.
  ///   - plan: The plan for the parts whose checksums are computed; the parts of another plan are read again before they
  ///     are sent.
  /// - Throws: ``UploadsError`` with code `.fileMissing`; `.fileChanged` if the file changes while it is read (retry when
  ///   it is complete); `.storage`.
  public init(
    readingFile path: String, contentType: String = "application/octet-stream", metadata: [String: String] = [:],
    plan: UploadPlan = UploadPlan()
  ) throws {
    let size = try FileReading.length(of: path)
    let before = try Fingerprint.of(path)
    let file = try OpenFile(path)
    let (sum, parts) = try Self.sums(of: path, plan.parts(of: size), size: size)
    guard try Fingerprint.of(path) == before else {
      throw UploadsError(.fileChanged, "\(path) changed while it was read", hint: "wait until the file is complete")
    }
    // The queue survives a power cut, and so must the file.
    try file.sync()
    self.init(
      path: path, size: size, sha256: sum, contentType: contentType, metadata: metadata,
      partSums: parts.isEmpty ? nil : PartSums(length: plan.partLength(for: size), parts))
  }

  /// Creates a description of a file of a folder that the program manages, where no file is a symbolic link.
  /// - Throws: ``UploadsError`` with code `.invalidArgument` for a link, and the errors of the other initializer.
  package init(readingOwn path: String, contentType: String) throws {
    let before = try Fingerprint.ofFileItself(path)
    try self.init(readingFile: path, contentType: contentType)
    guard try Fingerprint.ofFileItself(path) == before else {
      throw UploadsError(.fileChanged, "\(path) was replaced while it was read")
    }
  }

  /// Returns the checksums of parts of this length, as they were when the file was queued; reads the file if they are
  /// unknown.
  /// - Throws: ``UploadsError`` with code `.fileChanged` if the file is not the one that was queued.
  func sums(of ranges: [Range<Int64>], length: Int64) throws -> PartSums {
    if let partSums, partSums.length == length, partSums.count == ranges.count { return partSums }
    let (sum, parts) = try Self.sums(of: path, ranges, size: size)
    guard sum == sha256 else { throw S3Client.changed(self) }
    return PartSums(length: length, parts)
  }

  /// Returns the SHA-256 of a file, in hexadecimal, and those of its parts, if it has any, in one read.
  private static func sums(
    of path: String, _ ranges: [Range<Int64>], size: Int64
  ) throws -> (whole: String, parts: [[UInt8]]) {
    var whole = Crypto.SHA256()
    var parts: [[UInt8]] = []
    for (index, range) in (ranges.isEmpty ? [0..<size] : ranges).enumerated() {
      var part = Crypto.SHA256()
      let slice = FileSlice(path: path, offset: range.lowerBound, length: range.upperBound - range.lowerBound)
      try FileReading.read(slice) { bytes in
        whole.update(bufferPointer: bytes)
        if index > 0 { part.update(bufferPointer: bytes) }
      }
      // The checksum of the first part is that of the whole so far.
      if !ranges.isEmpty { parts.append(Array(index > 0 ? part.finalize() : whole.finalize())) }
    }
    return (whole.finalize().hex, parts)
  }
}
