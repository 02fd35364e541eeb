/// The plan by which a file is sent in one request or in parts.
///
/// ```swift
/// let plan = UploadPlan(threshold: 64 << 20, partLength: 16 << 20)
/// let content = try ObjectContent(readingFile: "/srv/backup.iso", plan: plan)
/// ```
public struct UploadPlan: Sendable, Hashable {
  /// The length in bytes from which on a file is sent in parts; default: 16 MiB.
  public var threshold: Int64
  /// The length of a part in bytes, at least 5 MiB; default: 8 MiB.
  public var partLength: Int64

  /// The largest number of parts of an object (Amazon S3 User Guide, “Multipart upload limits”).
  static let partLimit: Int64 = 10_000

  /// Creates a plan; a part length below the 5 MiB of S3 is raised to it.
  public init(threshold: Int64 = 16 << 20, partLength: Int64 = 8 << 20) {
    self.threshold = threshold
    self.partLength = max(partLength, 5 << 20)
  }

  /// Returns the parts of a file; none if it is sent in one request.
  func parts(of size: Int64) -> [Range<Int64>] {
    guard size >= threshold, size > 0 else { return [] }
    return Self.parts(of: size, length: partLength(for: size))
  }

  /// Returns the length of each part but the last.
  func partLength(for size: Int64) -> Int64 {
    var length = partLength
    while (size + length - 1) / length > Self.partLimit { length *= 2 }
    return length
  }

  static func parts(of size: Int64, length: Int64) -> [Range<Int64>] {
    stride(from: 0, to: size, by: Int(length)).map { $0..<min($0 + length, size) }
  }
}
