/// A segment whose WAV file and sidecar are complete and on disk.
public struct FinishedSegment: Sendable, Hashable {
  /// The contents of the sidecar.
  public var info: SegmentInfo
  /// The path of the WAV file.
  public var path: String
}

/// A receiver of finished segments, such as an upload queue.
///
/// ```swift
/// struct Printer: SegmentSink {
///   let folder: SegmentFolder
///
///   func take(_ segment: FinishedSegment) async throws {
///     print("segment", segment.info.id, "is in", segment.path)
///     try folder.markDelivered(segment.info.id)
///   }
/// }
/// ```
public protocol SegmentSink: Sendable {
  /// Accepts a finished segment, at least once each.
  ///
  /// The files stay until ``SegmentFolder/markDelivered(_:)`` is called. Until then the segment is offered again each time
  /// a recorder starts; a sink knows a segment that it already has by its number.
  /// - Throws: Any error if the segment could not be accepted; it is reported, and the segment is offered again later.
  func take(_ segment: FinishedSegment) async throws
}
