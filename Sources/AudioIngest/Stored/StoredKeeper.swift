/// A writer of a device's stored records: to the disk first, and then into segments, on the recorder's thread.
package actor StoredKeeper {
  /// The size in bytes at which a ring's records become segments: a quarter of an hour.
  private static let ringLimit = 4 << 20
  /// The size in bytes at which a file's blocks become segments: more than four hours. The time of a file is best known
  /// when all of it is here.
  private static let fileLimit = 64 << 20

  private let folder: SegmentFolder
  private let rules: SegmentRules
  private let limit: Int?
  private let openSegment: @Sendable () async -> SegmentInfo?
  private let deliver: @Sendable (FinishedSegment) -> Void
  private var spool: StoredSpool?
  private var device: AudioDevice?
  private var linkedAtMs: Int64 = 0
  /// The number of records without a frame.
  package private(set) var emptyRecords = 0

  /// Creates a keeper for the devices that are recorded into a folder.
  /// - Parameters:
  ///   - folder: The folder for the segments.
  ///   - rules: The rules for what is kept, and where it is cut.
  ///   - limit: The size in bytes at which records become segments; `nil` for that of the format.
  ///   - openSegment: A closure that returns the segment that is being received live.
  ///   - deliver: A closure that receives each finished segment.
  package init(
    _ folder: SegmentFolder, _ rules: SegmentRules, limit: Int? = nil,
    openSegment: @escaping @Sendable () async -> SegmentInfo?,
    deliver: @escaping @Sendable (FinishedSegment) -> Void
  ) {
    self.folder = folder
    self.rules = rules
    self.limit = limit
    self.openSegment = openSegment
    self.deliver = deliver
  }

  /// Starts a transfer.
  /// - Parameter linkedAtMs: The time of the connection: the stored audio is older.
  /// - Returns: The position of the last transfer; `nil` if there was none.
  package func open(
    _ device: AudioDevice, _ codec: AudioCodec, _ format: StoredFormat, linkedAtMs: Int64
  ) async throws -> StoredPosition? {
    self.device = device
    self.linkedAtMs = linkedAtMs
    folder.beginFetching(device.address)
    for segment in try folder.tidyStored(device.address) { deliver(segment) }
    guard let existing = try StoredSpool.existing(device.address, in: folder) else {
      spool = try StoredSpool.new(device, codec, format, in: folder)
      return nil
    }
    spool = existing
    let label = existing.label
    if label.codec != codec || label.format != format {
      // The firmware was changed: the records so far are decoded as they were encoded.
      let position = label.format == format ? existing.position : StoredPosition(next: 0)
      try await seal(at: position, codec, format)
    }
    return existing.position
  }

  /// Writes records to the disk.
  package func keep(_ records: [UInt8]) async throws {
    try attempt { spool throws(AudioIngestError) in try spool.append(records) }
    guard let spool else { return }
    if spool.bytes >= limit ?? (spool.label.format == .ring ? Self.ringLimit : Self.fileLimit) { try await seal() }
  }

  /// Makes segments of the records so far; the next record is that of another position.
  package func restart(at next: UInt64, ring: UInt64?) async throws {
    try await seal(at: StoredPosition(next: next, ring: ring))
  }

  /// Records that the device had stored audio up to a record at a time.
  /// - Parameter atMs: The time; `nil` for that of the connection.
  package func setFilled(to next: UInt64, atMs: Int64?) throws {
    let time = atMs ?? linkedAtMs
    try attempt { spool throws(AudioIngestError) in try spool.setFilled(to: next, atMs: time) }
  }

  /// Discards the records from a number on.
  package func discard(from next: UInt64) throws {
    try attempt { spool throws(AudioIngestError) in try spool.discard(from: next) }
  }

  /// Records that the device has deleted its store.
  package func clear() throws { try attempt { spool throws(AudioIngestError) in try spool.clear() } }

  /// Ends the transfer for now.
  ///
  /// Records with a time of their own become segments; blocks without one wait for the rest, unless they are complete.
  package func close() async throws {
    defer {
      spool = nil
      if let device { folder.endFetching(device.address) }
    }
    if let label = spool?.label, label.format == .ring || label.isCleared { try await seal() }
  }

  /// Makes segments of all records so far; the next record is that of a position.
  package func seal(
    at next: StoredPosition? = nil, _ codec: AudioCodec? = nil, _ format: StoredFormat? = nil
  ) async throws {
    guard let spool, let device else { return }
    do {
      if spool.count > 0 {
        var live = try SegmentCatalog(path: folder.path).entries.map(\.segment.info)
        if let open = await openSegment() { live.append(open) }
        var sealer = try StoredSealer(spool, rules, live: live, latestMs: linkedAtMs)
        // Live audio is recorded on the same thread.
        while try sealer.step() { await Task.yield() }
        emptyRecords += sealer.emptyRecords
        for segment in try sealer.finish(at: next ?? spool.position, device, codec, format) { deliver(segment) }
      } else {
        if let next {
          try spool.begin(at: next, endMs: nil, device, codec ?? spool.label.codec, format ?? spool.label.format)
        }
        for segment in try folder.tidyStored(device.address) { deliver(segment) }
      }
    } catch {
      self.spool = nil
      throw error
    }
  }

  /// Performs an operation on the spool; after a failure the spool is read from the disk again.
  private func attempt(_ body: (StoredSpool) throws(AudioIngestError) -> Void) throws {
    guard let spool else { throw AudioIngestError(.storage, "the spool of the stored audio is closed") }
    do throws(AudioIngestError) {
      try body(spool)
    } catch {
      self.spool = nil
      throw error
    }
  }
}
