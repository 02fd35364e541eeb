package import AudioIngest
package import AudioWearables
package import BlueZ
internal import SystemTesting

/// A conversation of a recorder with a wearable that has the same requests each time, so that a recording of it can stand
/// for the wearable: `Tests/BtsnoopTests/Recordings`.
package enum WearableConversation {
  /// The samples that were kept.
  package struct Kept: Sendable, Equatable {
    package var live: [Int16]
    package var stored: [Int16]
  }

  private static let frames = 40
  private static let samples = 80
  private static let records = 3
  private static let moment = Moment(instant: .zero, wallMs: Recording.start)

  /// What the wearable sends.
  package static let sent = Kept(live: Recording.ramp(0..<frames * samples), stored: StoredSound.samples(0..<records))

  /// Makes the wearable on an adapter: PCM at 8 kHz, and a ring that was filled half a minute ago.
  package static func wearable(on adapter: Adapter) async throws -> FakeWearable {
    let ring = (0..<records).map { StoredSound.record($0, startMs: moment.wallMs - 35_000) }
    return try await FakeWearable(on: adapter, codec: 1, storing: FakeRing(records: ring, ring: 4))
  }

  /// Sends the frames.
  package static func play(_ wearable: FakeWearable) async throws {
    for frame in 0..<frames {
      let ramp = Recording.ramp(frame * samples..<(frame + 1) * samples)
      try await wearable.send([Recording.bytes(ramp)])
    }
  }

  /// Records a wearable until it has sent everything.
  /// - Parameters:
  ///   - address: The address of the wearable.
  ///   - adapter: The adapter that connects to it.
  ///   - folder: An empty folder.
  ///   - timing: The times at which stored audio is fetched.
  ///   - whenReady: Runs once the recorder keeps what arrives.
  package static func keep(
    _ address: BluetoothAddress, at adapter: Adapter, into folder: SegmentFolder,
    timing: WearableRecorder.StoredTiming? = nil, whenReady: () async throws -> Void = {}
  ) async throws -> Kept {
    let recorder = WearableRecorder(
      OmiWearable(), at: adapter, address: address, into: folder,
      settings: .standing(StillTime(at: moment), timing: timing))
    let running = Task { try await recorder.run() }
    try await eventually("the wearable streams") { await recorder.status().state == .streaming }
    try await whenReady()
    try await recorder.waitForNotifications(frames)
    try await eventually("the stored audio is here") {
      let stored = await recorder.status().stored
      return stored?.isFetching == false && stored?.counters.records == records
    }
    running.cancel()
    try await running.value
    let segments = try SegmentCatalog(path: folder.path).entries.map(\.segment)
    return Kept(
      live: try segments.filter { $0.info.backfill == nil }.flatMap { try $0.samples() },
      stored: try segments.filter { $0.info.backfill != nil }.flatMap { try $0.samples() })
  }
}
