/// In how many requests a file goes.
public struct UploadPlan: Sendable, Hashable {
  /// The length of a file from which on it goes in parts: 16 MiB. What is shorter goes in one request.
  public var threshold: Int64
  /// The length of a part: 8 MiB. S3 wants 5 MiB at least.
  public var partLength: Int64

  /// The most parts an object may have (Amazon S3 User Guide, “Multipart upload limits”).
  static let partLimit: Int64 = 10_000

  /// Makes a plan.
  public init(threshold: Int64 = 16 << 20, partLength: Int64 = 8 << 20) {
    (self.threshold, self.partLength) = (threshold, max(partLength, 5 << 20))
  }

  /// The parts of a file: none when it goes in one request.
  func parts(of size: Int64) -> [Range<Int64>] {
    guard size >= threshold, size > 0 else { return [] }
    return Self.parts(of: size, length: partLength(for: size))
  }

  /// The length of each part but the last.
  func partLength(for size: Int64) -> Int64 {
    var length = partLength
    while (size + length - 1) / length > Self.partLimit { length *= 2 }
    return length
  }

  static func parts(of size: Int64, length: Int64) -> [Range<Int64>] {
    stride(from: 0, to: size, by: Int(length)).map { $0..<min($0 + length, size) }
  }
}
