internal import BlueZ
internal import Glibc
internal import Timing

/// Where notifications become segments: a recorder for each codec the device has used, or a raw file for an unknown one.
actor RecordingFeed {
  private let folder: SegmentFolder
  private let framing: PacketFraming
  private let rules: SegmentRules
  private let now: @Sendable () -> Moment
  private let tell: @Sendable (WearableRecorder.Event) -> Void
  private var recorder: StreamRecorder?
  /// What was heard before, by a recorder of another codec.
  private var previous: PrecedingSegment?
  private var raw: RawFile?
  /// When the next raw file is to be begun, because the last one failed.
  private var rawRetryAt: Duration?

  init(
    _ folder: SegmentFolder, _ framing: PacketFraming, _ rules: SegmentRules, now: @escaping @Sendable () -> Moment,
    tell: @escaping @Sendable (WearableRecorder.Event) -> Void
  ) {
    (self.folder, self.framing, self.rules, self.now, self.tell) = (folder, framing, rules, now, tell)
  }

  /// What is heard now.
  var live: WearableRecorder.Live? {
    recorder.map {
      WearableRecorder.Live(
        codec: $0.codec, counters: $0.counters, missingSamples: $0.missingSamples, openSamples: $0.openSamples,
        level: $0.level, isSpeech: $0.isSpeech)
    }
  }

  /// The segment that is being heard now, as far as it is known.
  var openSegment: SegmentInfo? { recorder?.openSegment }

  /// The device has said what it encodes with.
  func begin(_ device: AudioDevice, _ codec: AudioCodec) throws {
    (raw, rawRetryAt) = (nil, nil)
    if recorder?.codec == codec { return }
    changeCodec()
    let recorder = try StreamRecorder(device, codec, framing: framing, into: folder, rules: rules)
    recorder.previous = previous
    self.recorder = recorder
  }

  /// Nobody here knows what the device encodes with.
  /// - Returns: whether that was not so before.
  func beginRaw() throws -> Bool {
    if raw != nil || rawRetryAt != nil { return false }
    changeCodec()
    raw = try folder.beginRaw(capturedAtMs: now().wallMs)
    return true
  }

  private func changeCodec() {
    end(.codecChange)
    previous = recorder?.previous ?? previous
    recorder = nil
  }

  func take(_ value: [UInt8]) {
    let moment = now()
    recorder?.take(value, at: moment)
    retryRaw(moment)
    attempt { raw throws(AudioIngestError) in try raw.append(value, at: moment.instant) }
    pass()
  }

  func tick() {
    recorder?.tick(at: now())
    attempt { raw throws(AudioIngestError) in try raw.flush() }
    pass()
  }

  func end(_ reason: SegmentEnd) {
    recorder?.end(reason, at: now())
    attempt { raw throws(AudioIngestError) in try raw.flush() }
    (raw, rawRetryAt) = (nil, nil)
    pass()
  }

  private func retryRaw(_ moment: Moment) {
    guard let rawRetryAt, moment.instant >= rawRetryAt else { return }
    do throws(AudioIngestError) {
      raw = try folder.beginRaw(capturedAtMs: moment.wallMs)
      self.rawRetryAt = nil
    } catch {
      // It was told when it began.
      self.rawRetryAt = moment.instant + SegmentKeeper.retryInterval
    }
  }

  private func attempt(_ body: (RawFile) throws(AudioIngestError) -> Void) {
    guard let file = raw else { return }
    do throws(AudioIngestError) {
      try body(file)
    } catch {
      raw = nil
      rawRetryAt = now().instant + SegmentKeeper.retryInterval
      tell(.problem("\(error)"))
    }
  }

  private func pass() {
    for event in recorder?.takeEvents() ?? [] { tell(.recording(event)) }
  }
}

extension Moment {
  /// This moment.
  static var now: Moment {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Moment(
      instant: TimeSource.continuous.now, wallMs: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }
}
