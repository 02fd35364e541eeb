/// The plan by which a file is sent in one request or in parts.
///
/// ```swift
/// let plan = UploadPlan(threshold: 64 << 20, partLength: 16 << 20)
/// let content = try ObjectContent(readingFile: "/srv/backup.iso", plan: plan)
/// ```
public struct UploadPlan: Sendable, Hashable {
  /// The length in bytes from which on a file is sent in parts; default: 16 MiB.
  public var threshold: Int64
  /// The length of a part in bytes, at least 5 MiB; default: 8 MiB. A file of fewer than eight such parts has shorter ones,
  /// down to 5 MiB: over a slow line the last parts of a file are not sent alone for long.
  public var partLength: Int64

  /// The shortest part but the last that S3 takes (Amazon S3 User Guide, “Multipart upload limits”): 5 MiB.
  static let shortestPart: Int64 = 5 << 20
  /// The number of parts that a file has before its parts are of the full length.
  static let fewestFullParts: Int64 = 8

  /// The largest number of parts of an object.
  static let partLimit: Int64 = 10_000

  /// Creates a plan; a part length below the 5 MiB of S3 is raised to it.
  public init(threshold: Int64 = 16 << 20, partLength: Int64 = 8 << 20) {
    self.threshold = threshold
    self.partLength = max(partLength, Self.shortestPart)
  }

  /// Returns the parts of a file; none if it is sent in one request.
  func parts(of size: Int64) -> [Range<Int64>] {
    guard size >= threshold, size > 0 else { return [] }
    return Self.parts(of: size, length: partLength(for: size))
  }

  /// Returns the length of each part but the last.
  func partLength(for size: Int64) -> Int64 {
    let share = (size + Self.fewestFullParts - 1) / Self.fewestFullParts
    var length = min(partLength, max(share, Self.shortestPart))
    while (size + length - 1) / length > Self.partLimit { length *= 2 }
    return length
  }

  /// Returns the parts in which a file of so many may have been sent: those of this plan, or all of the full length, as other
  /// programs and version 0.1.0 send them.
  func possibleParts(of size: Int64, count: Int) -> [[Range<Int64>]] {
    Set([partLength(for: size), partLength]).map { Self.parts(of: size, length: $0) }.filter { $0.count == count }
  }

  private static func parts(of size: Int64, length: Int64) -> [Range<Int64>] {
    stride(from: 0, to: size, by: Int(length)).map { $0..<min($0 + length, size) }
  }
}
