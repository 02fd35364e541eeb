internal import DurableFiles
import FoundationEssentials

/// The fetched records of one device, on disk until they become segments.
///
/// One file has the records as they arrived; another, the label, describes them, and is only replaced as a whole. Both
/// together give the position to continue at: each record is there once, whenever a crash happens.
final class StoredSpool {
  /// The description of the records.
  struct Label: Codable, Hashable {
    var version = 1
    var device: String
    var name: String?
    var codec: AudioCodec
    var format: StoredFormat
    /// The number of the file with the records: a new one starts when they become segments.
    var generation: Int
    /// The number of the first record.
    var start: UInt64
    var ring: UInt64?
    /// The hash of the record before the first.
    var tail: UInt64?
    /// A Boolean value that indicates whether the device has deleted its file since.
    var isCleared = false
    /// The end of the record before the first, in Unix milliseconds, if the two may be of one run.
    var follows: Int64?
    var anchors: [StoredTimeline.Anchor] = []
  }

  private static let labelLimit = 1 << 20

  private(set) var label: Label
  let folder: SegmentFolder
  private var file: GrowingFile
  /// The hash of the last record.
  private var tail: UInt64?

  /// The number of records.
  var count: Int { file.length / label.format.recordLength }
  /// The number of bytes in all records.
  var bytes: Int { file.length }

  var position: StoredPosition {
    if label.isCleared { return StoredPosition(next: 0) }
    return StoredPosition(next: label.start + UInt64(count), ring: label.ring, tail: tail)
  }

  /// Returns the spool that an earlier recorder has left, if there is one.
  static func existing(_ address: String, in folder: SegmentFolder) throws(AudioIngestError) -> StoredSpool? {
    guard let bytes = try folder.disk.contents(of: folder.paths.stored(address), limit: labelLimit) else { return nil }
    let label: Label
    do {
      label = try JSONDecoder().decode(Label.self, from: Data(bytes))
    } catch {
      throw AudioIngestError(.damagedFile, "\(folder.paths.stored(address)) is not the label of a spool")
    }
    guard label.version == 1, 0..<Int.max ~= label.generation, label.start <= RingMessage.limit,
      label.anchors.allSatisfy({ 0...1 << 32 ~= $0.until && 0...1 << 53 ~= $0.atMs }),
      0...1 << 53 ~= label.follows ?? 0
    else {
      throw AudioIngestError(.damagedFile, "\(folder.paths.stored(address)) has values out of range")
    }
    return try StoredSpool(label, folder)
  }

  /// Creates an empty spool.
  static func new(
    _ device: AudioDevice, _ codec: AudioCodec, _ format: StoredFormat, in folder: SegmentFolder
  ) throws(AudioIngestError) -> StoredSpool {
    let label = Label(
      device: device.address, name: device.name, codec: codec, format: format, generation: 0, start: 0)
    try storage(GrowingFile(folder.paths.records(device.address, 0), on: folder.disk).sync())
    let spool = try StoredSpool(label, folder)
    try spool.writeLabel()
    return spool
  }

  private init(_ label: Label, _ folder: SegmentFolder) throws(AudioIngestError) {
    self.label = label
    self.folder = folder
    let path = folder.paths.records(label.device, label.generation)
    file = try storage(GrowingFile(path, on: folder.disk, isContinued: true))
    // A crash may have left a part of a record.
    let whole = file.length / label.format.recordLength * label.format.recordLength
    if whole < file.length { try storage(file.truncate(to: whole)) }
    try readTail()
  }

  private func readTail() throws(AudioIngestError) {
    tail = label.tail
    if count > 0 { tail = try records((count - 1)..<count).fnv1a }
  }

  private func writeLabel() throws(AudioIngestError) {
    let path = folder.paths.stored(label.device)
    try storage(folder.disk.replace(path, with: SegmentJSON.bytes(label), by: path + ".new"))
    try storage(folder.disk.sync(folder: folder.paths.open))
  }

  // MARK: Writing

  /// Writes complete records to the disk: they are durable when the call returns.
  /// - Throws: ``AudioIngestError``: `.noSpace`, `.storage`. Some records may be on disk then: ``existing(_:in:)`` finds
  ///   them.
  func append(_ records: [UInt8]) throws(AudioIngestError) {
    try folder.makeRoom()
    try storage(file.append(records))
    try storage(file.sync())
    tail = records.suffix(label.format.recordLength).fnv1a
  }

  /// Records that the device had stored audio up to a record at a time.
  func setFilled(to next: UInt64, atMs: Int64) throws(AudioIngestError) {
    guard next > label.start, next - label.start <= RingMessage.limit else { return }
    let until = Int(next - label.start)
    guard until > label.anchors.last?.until ?? 0 else { return }
    label.anchors.append(.init(until: until, atMs: atMs))
    try writeLabel()
  }

  /// Records that the device has deleted its store.
  func clear() throws(AudioIngestError) {
    label.isCleared = true
    try writeLabel()
  }

  /// Discards the records from a number on; those that became segments stay.
  func discard(from next: UInt64) throws(AudioIngestError) {
    let kept = next > label.start ? min(Int(clamping: next - label.start), count) : 0
    try storage(file.truncate(to: kept * label.format.recordLength))
    try storage(file.sync())
    try readTail()
  }

  /// Starts the next file, once the records of this one are segments in their scratch folder: from now on these count.
  /// - Parameter endMs: The end of the last record, in Unix milliseconds.
  func begin(
    at next: StoredPosition, endMs: Int64?, _ device: AudioDevice, _ codec: AudioCodec, _ format: StoredFormat
  ) throws(AudioIngestError) {
    let generation = label.generation + 1
    let path = folder.paths.records(label.device, generation)
    let new = try storage(GrowingFile(path, on: folder.disk))
    try storage(new.sync())
    let before = label
    // Records that the device still has of an earlier run end when that one did.
    let shift = Int(clamping: Int64(clamping: next.next) - Int64(clamping: label.start))
    let moved = label.anchors.map { StoredTimeline.Anchor(until: $0.until - shift, atMs: $0.atMs) }
    let anchors = next.tail == nil ? [] : moved.filter { $0.until > 0 }
    // Of a file only a run that is still known continues.
    let isOneRun = next.tail != nil && (format == .ring || !anchors.isEmpty)
    label = Label(
      device: label.device, name: device.name, codec: codec, format: format, generation: generation, start: next.next,
      ring: next.ring, tail: next.tail, follows: isOneRun ? endMs ?? label.follows : nil, anchors: anchors)
    do throws(AudioIngestError) {
      try writeLabel()
    } catch {
      label = before
      throw error
    }
    file = new
    tail = next.tail
  }

  // MARK: Reading

  /// Returns some of the records.
  func records(_ range: Range<Int>) throws(AudioIngestError) -> [UInt8] {
    let length = label.format.recordLength
    return try file.bytes(at: range.lowerBound * length, range.count * length)
  }
}
