import FoundationEssentials

/// The records of one device that were fetched, on disk until they are segments.
///
/// They lie in one file, as they came; another says what they are, and is only ever replaced as a whole. Where a store
/// is to be fetched from follows from both: each record is there once, whatever crashes when.
final class StoredSpool {
  /// What the records are.
  struct Label: Codable, Hashable {
    var version = 1
    var device: String
    var name: String?
    var codec: AudioCodec
    var format: StoredFormat
    /// Which file has the records: each time that they became segments, the next one begins.
    var generation: Int
    /// The number of the first of them.
    var start: UInt64
    var ring: UInt64?
    /// ``Swift/Sequence/fnv1a`` of the record before the first.
    var tail: UInt64?
    /// Whether the device has deleted its file since.
    var isCleared = false
    /// When the record before the first was over, in Unix milliseconds, if they may be of one stretch.
    var follows: Int64?
    var anchors: [StoredTimeline.Anchor] = []
  }

  private static let labelLimit = 1 << 20

  private(set) var label: Label
  let folder: SegmentFolder
  private var file: DiskFile
  /// What the last record is known by.
  private var tail: UInt64?

  /// How many records there are.
  var count: Int { file.length / label.format.recordLength }
  /// How many bytes they have.
  var bytes: Int { file.length }

  var position: StoredPosition {
    if label.isCleared { return StoredPosition(next: 0) }
    return StoredPosition(next: label.start + UInt64(count), ring: label.ring, tail: tail)
  }

  /// Goes on with what an earlier recorder has left, if it has.
  static func existing(_ address: String, in folder: SegmentFolder) throws(AudioIngestError) -> StoredSpool? {
    guard let bytes = try folder.disk.read(folder.paths.stored(address), limit: labelLimit) else { return nil }
    let label: Label
    do {
      label = try JSONDecoder().decode(Label.self, from: Data(bytes))
    } catch {
      throw AudioIngestError(.damagedFile, "\(folder.paths.stored(address)) does not say what was stored")
    }
    guard label.version == 1, 0..<Int.max ~= label.generation, label.start <= RingMessage.limit,
      label.anchors.allSatisfy({ 0...1 << 32 ~= $0.until && 0...1 << 53 ~= $0.atMs }),
      0...1 << 53 ~= label.follows ?? 0
    else {
      throw AudioIngestError(.damagedFile, "\(folder.paths.stored(address)) says of a store what cannot be")
    }
    return try StoredSpool(label, folder)
  }

  /// Begins with nothing.
  static func new(
    _ device: AudioDevice, _ codec: AudioCodec, _ format: StoredFormat, in folder: SegmentFolder
  ) throws(AudioIngestError) -> StoredSpool {
    let label = Label(
      device: device.address, name: device.name, codec: codec, format: format, generation: 0, start: 0)
    try DiskFile(folder.paths.records(device.address, 0), folder.disk).sync()
    let spool = try StoredSpool(label, folder)
    try spool.keepLabel()
    return spool
  }

  private init(_ label: Label, _ folder: SegmentFolder) throws(AudioIngestError) {
    (self.label, self.folder) = (label, folder)
    let path = folder.paths.records(label.device, label.generation)
    file = try DiskFile(path, folder.disk, isContinued: true)
    // A crash may have left a part of a record.
    let whole = file.length / label.format.recordLength * label.format.recordLength
    if whole < file.length { try file.truncate(to: whole) }
    try rememberTail()
  }

  private func rememberTail() throws(AudioIngestError) {
    tail = label.tail
    if count > 0 { tail = try records((count - 1)..<count).fnv1a }
  }

  private func keepLabel() throws(AudioIngestError) {
    let path = folder.paths.stored(label.device)
    try folder.disk.replace(path, with: SegmentJSON.bytes(label), by: path + ".new")
    try folder.disk.sync(folder: folder.paths.open)
  }

  // MARK: What comes

  /// Puts whole records on disk: they are there when it returns.
  /// - Throws: ``AudioIngestError``: `.noSpace`, `.storage`. Some of them may be there then: what was left is found by
  ///   ``existing(_:in:)``.
  func append(_ records: [UInt8]) throws(AudioIngestError) {
    try folder.makeRoom()
    try file.append(records)
    try file.sync()
    tail = records.suffix(label.format.recordLength).fnv1a
  }

  /// The device had stored all up to a record when somebody listened again.
  func note(filledTo next: UInt64, atMs: Int64) throws(AudioIngestError) {
    guard next > label.start, next - label.start <= RingMessage.limit else { return }
    let until = Int(next - label.start)
    guard until > label.anchors.last?.until ?? 0 else { return }
    label.anchors.append(.init(until: until, atMs: atMs))
    try keepLabel()
  }

  /// The device has deleted all that is here.
  func clear() throws(AudioIngestError) {
    label.isCleared = true
    try keepLabel()
  }

  /// Forgets the records from a number on; those that are segments already stay.
  func discard(from next: UInt64) throws(AudioIngestError) {
    let kept = next > label.start ? min(Int(clamping: next - label.start), count) : 0
    try file.truncate(to: kept * label.format.recordLength)
    try file.sync()
    try rememberTail()
  }

  /// Begins the next file, now that what is in this one has become segments in its scratch folder: with this it counts.
  /// - Parameter endMs: when the last record in it was over.
  func begin(
    at next: StoredPosition, endMs: Int64?, _ device: AudioDevice, _ codec: AudioCodec, _ format: StoredFormat
  ) throws(AudioIngestError) {
    let generation = label.generation + 1
    let path = folder.paths.records(label.device, generation)
    let new = try DiskFile(path, folder.disk)
    try new.sync()
    let before = label
    // What the device has still to send of an earlier stretch ends when that one did.
    let shift = Int(clamping: Int64(clamping: next.next) - Int64(clamping: label.start))
    let moved = label.anchors.map { StoredTimeline.Anchor(until: $0.until - shift, atMs: $0.atMs) }
    let anchors = next.tail == nil ? [] : moved.filter { $0.until > 0 }
    // Of a file only a stretch that is still known goes on.
    let isOneStretch = next.tail != nil && (format == .ring || !anchors.isEmpty)
    label = Label(
      device: label.device, name: device.name, codec: codec, format: format, generation: generation, start: next.next,
      ring: next.ring, tail: next.tail, follows: isOneStretch ? endMs ?? label.follows : nil, anchors: anchors)
    do throws(AudioIngestError) {
      try keepLabel()
    } catch {
      label = before
      throw error
    }
    (file, tail) = (new, next.tail)
  }

  // MARK: What is there

  /// Reads some of the records.
  func records(_ range: Range<Int>) throws(AudioIngestError) -> [UInt8] {
    let length = label.format.recordLength
    return try file.read(at: range.lowerBound * length, range.count * length)
  }
}
