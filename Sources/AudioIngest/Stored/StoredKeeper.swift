/// Takes a device's stored records to disk and makes segments of them, on the recorder's thread.
actor StoredKeeper {
  /// So much of a ring becomes segments at once: a quarter of an hour.
  private static let ringLimit = 4 << 20
  /// Of a file the time is known best when all of it is here: more than four hours.
  private static let fileLimit = 64 << 20

  private let folder: SegmentFolder
  private let rules: SegmentRules
  private let limit: Int?
  private let openSegment: @Sendable () async -> SegmentInfo?
  private let tell: @Sendable (WearableRecorder.Event) -> Void
  private var spool: StoredSpool?
  private var device: AudioDevice?
  private var linkedAtMs: Int64 = 0
  /// How many records had no frame in them.
  private(set) var emptyRecords = 0

  /// - Parameters:
  ///   - limit: how many bytes become segments at once, when it is not the usual number.
  ///   - openSegment: the segment that is being heard now.
  init(
    _ folder: SegmentFolder, _ rules: SegmentRules, limit: Int? = nil,
    openSegment: @escaping @Sendable () async -> SegmentInfo?,
    tell: @escaping @Sendable (WearableRecorder.Event) -> Void
  ) {
    (self.folder, self.rules, self.limit, self.openSegment, self.tell) = (folder, rules, limit, openSegment, tell)
  }

  /// Begins to fetch.
  /// - Parameter linkedAtMs: when the device was come to: what it has stored is older.
  /// - Returns: where it was left; `nil` when nothing was ever fetched.
  func open(
    _ device: AudioDevice, _ codec: AudioCodec, _ format: StoredFormat, linkedAtMs: Int64
  ) async throws -> StoredPosition? {
    (self.device, self.linkedAtMs) = (device, linkedAtMs)
    folder.beginFetching(device.address)
    announce(try folder.tidyStored(device.address))
    guard let existing = try StoredSpool.existing(device.address, in: folder) else {
      spool = try StoredSpool.new(device, codec, format, in: folder)
      return nil
    }
    spool = existing
    let label = existing.label
    if label.codec != codec || label.format != format {
      // Another firmware: what came of the one before is decoded as it was encoded.
      let position = label.format == format ? existing.position : StoredPosition(next: 0)
      try await seal(at: position, codec, format)
    }
    return existing.position
  }

  /// Puts records on disk.
  func keep(_ records: [UInt8]) async throws {
    try attempt { spool throws(AudioIngestError) in try spool.append(records) }
    guard let spool else { return }
    if spool.bytes >= limit ?? (spool.label.format == .ring ? Self.ringLimit : Self.fileLimit) { try await seal() }
  }

  func restart(at next: UInt64, ring: UInt64?) async throws {
    try await seal(at: StoredPosition(next: next, ring: ring))
  }

  /// - Parameter atMs: when somebody listened again; `nil` for the beginning of the link.
  func note(filledTo next: UInt64, atMs: Int64?) throws {
    let moment = atMs ?? linkedAtMs
    try attempt { spool throws(AudioIngestError) in try spool.note(filledTo: next, atMs: moment) }
  }

  func discard(from next: UInt64) throws {
    try attempt { spool throws(AudioIngestError) in try spool.discard(from: next) }
  }

  func clear() throws { try attempt { spool throws(AudioIngestError) in try spool.clear() } }

  /// Fetches no more for now. What has its own time becomes segments; what has none waits for the rest, unless that is
  /// all of it.
  func close() async throws {
    defer {
      spool = nil
      if let device { folder.endFetching(device.address) }
    }
    if let label = spool?.label, label.format == .ring || label.isCleared { try await seal() }
  }

  /// Makes segments of all that is here; what comes next begins at a position.
  func seal(at next: StoredPosition? = nil, _ codec: AudioCodec? = nil, _ format: StoredFormat? = nil) async throws {
    guard let spool, let device else { return }
    do {
      if spool.count > 0 {
        var heard = try SegmentCatalog(path: folder.path).entries.map(\.segment.info)
        if let open = await openSegment() { heard.append(open) }
        var sealer = try StoredSealer(spool, rules, heard: heard, latestMs: linkedAtMs)
        // Live audio comes in between.
        while try sealer.step() { await Task.yield() }
        emptyRecords += sealer.emptyRecords
        announce(try sealer.finish(at: next ?? spool.position, device, codec, format))
      } else {
        if let next {
          try spool.begin(at: next, endMs: nil, device, codec ?? spool.label.codec, format ?? spool.label.format)
        }
        announce(try folder.tidyStored(device.address))
      }
    } catch {
      self.spool = nil
      throw error
    }
  }

  private func announce(_ segments: [FinishedSegment]) {
    for segment in segments { tell(.recording(.finished(segment))) }
  }

  /// Does something with the spool; when that fails, what came of it is found when it is opened anew.
  private func attempt(_ body: (StoredSpool) throws(AudioIngestError) -> Void) throws {
    guard let spool else { throw AudioIngestError(.storage, "what is fetched has no file") }
    do throws(AudioIngestError) {
      try body(spool)
    } catch {
      self.spool = nil
      throw error
    }
  }
}
