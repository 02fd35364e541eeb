internal import Crypto
internal import FoundationEssentials
import Glibc

/// The SHA-256 of each part of a file. They are made when the file is read for its own sum, so that nothing has to be
/// read twice while a connection waits, and so that the parts together are what was queued.
public struct PartSums: Sendable, Hashable, Codable {
  /// The length of each part but the last, in bytes.
  public let length: Int64
  /// The sums of all parts, 32 bytes each.
  private let bytes: Data

  init(length: Int64, _ sums: [[UInt8]]) {
    self.length = length
    bytes = Data(sums.joined())
  }

  /// How many there are.
  var count: Int { bytes.count / SHA256Digest.byteCount }

  /// The sum of a part, by its index.
  subscript(index: Int) -> [UInt8] {
    let start = bytes.startIndex + index * SHA256Digest.byteCount
    return Array(bytes[start..<(start + SHA256Digest.byteCount)])
  }
}

extension ObjectContent {
  /// Describes a file as it is now: reads all of it, and has it on disk before it returns.
  /// - Parameters:
  ///   - path: where it is.
  ///   - contentType: its media type.
  ///   - metadata: names in small letters, and what they say.
  ///   - plan: in which parts it will go; others are summed again before they are sent.
  /// - Throws: ``UploadsError``: `.fileMissing`, `.fileChanged` when somebody writes to it meanwhile, `.storage`.
  public init(
    readingFile path: String, contentType: String = "application/octet-stream", metadata: [String: String] = [:],
    plan: UploadPlan = UploadPlan()
  ) throws {
    let (size, before) = (try FileReading.length(of: path), try Fingerprint.of(path))
    let file = try FileReading.open(path)
    defer { close(file) }
    let (sum, parts) = try Self.sums(of: path, plan.parts(of: size), size: size)
    guard try Fingerprint.of(path) == before else {
      throw UploadsError(.fileChanged, "\(path) changes while it is read", hint: "wait until it is whole")
    }
    // Its queue outlives a power cut, and so must the file.
    guard fsync(file) == 0 else { throw UploadsError.disk("writing \(path) to disk") }
    self.init(
      path: path, size: size, sha256: sum, contentType: contentType, metadata: metadata,
      partSums: parts.isEmpty ? nil : PartSums(length: plan.partLength(for: size), parts))
  }

  /// The sums of parts of this length, as they were when it was queued; reads the file where they are not known.
  /// - Throws: ``UploadsError``: `.fileChanged` when the file is not what was queued.
  func sums(of ranges: [Range<Int64>], length: Int64) throws -> PartSums {
    if let partSums, partSums.length == length, partSums.count == ranges.count { return partSums }
    let (sum, parts) = try Self.sums(of: path, ranges, size: size)
    guard sum == sha256 else { throw S3Client.changed(self) }
    return PartSums(length: length, parts)
  }

  /// The SHA-256 of a file, in hexadecimal, and those of its parts, if it has any, in one go.
  private static func sums(
    of path: String, _ ranges: [Range<Int64>], size: Int64
  ) throws -> (whole: String, parts: [[UInt8]]) {
    var (whole, parts) = (Crypto.SHA256(), [[UInt8]]())
    for (index, range) in (ranges.isEmpty ? [0..<size] : ranges).enumerated() {
      var part = Crypto.SHA256()
      let slice = FileSlice(path: path, offset: range.lowerBound, length: range.upperBound - range.lowerBound)
      try FileReading.read(slice) { bytes in
        whole.update(bufferPointer: bytes)
        if index > 0 { part.update(bufferPointer: bytes) }
      }
      // The first part's sum is the whole's so far.
      if !ranges.isEmpty { parts.append(Array(index > 0 ? part.finalize() : whole.finalize())) }
    }
    return (whole.finalize().hex, parts)
  }
}
