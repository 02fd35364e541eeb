internal import AudioIngest

/// A recorder of a connection's notifications: it has a stream recorder for the present codec, or a raw file for an
/// unsupported one.
actor RecordingFeed {
  private enum State {
    /// No codec is known yet.
    case idle
    /// The codec is supported.
    case recording(StreamRecorder)
    /// The codec is unsupported, and packets are stored as they are.
    case raw(RawFile)
    /// The codec is unsupported, and the raw file failed; the next one is opened at an instant.
    case failed(retryAt: Duration)
  }

  private let folder: SegmentFolder
  private let framing: PacketFraming
  private let rules: SegmentRules
  private let now: @Sendable () -> Moment
  private let output: RecorderOutput
  private var state = State.idle
  /// The last segment before the recorder, perhaps of another codec.
  private var previous: PrecedingSegment?

  init(
    _ folder: SegmentFolder, _ framing: PacketFraming, _ rules: SegmentRules, now: @escaping @Sendable () -> Moment,
    output: RecorderOutput
  ) {
    self.folder = folder
    self.framing = framing
    self.rules = rules
    self.now = now
    self.output = output
  }

  private var recorder: StreamRecorder? { if case .recording(let recorder) = state { recorder } else { nil } }

  /// The values of the live stream.
  var live: WearableRecorder.Live? {
    recorder.map {
      WearableRecorder.Live(
        codec: $0.codec, counters: $0.counters, missingSamples: $0.missingSamples, openSamples: $0.openSamples,
        level: $0.level, isSpeech: $0.isSpeech)
    }
  }

  /// The description so far of the open segment.
  var openSegment: SegmentInfo? { recorder?.openSegment }

  /// Records the following notifications with a codec.
  func begin(_ device: AudioDevice, _ codec: AudioCodec) throws {
    if recorder?.codec == codec { return }
    changeCodec()
    let recorder = try StreamRecorder(device, codec, framing: framing, into: folder, rules: rules)
    recorder.previous = previous
    state = .recording(recorder)
  }

  /// Stores the following notifications as they are: their codec is unsupported.
  /// - Returns: `false` if that was so before.
  func beginRaw() throws -> Bool {
    switch state {
    case .raw, .failed: return false
    case .idle, .recording: break
    }
    changeCodec()
    state = .raw(try folder.beginRaw(capturedAtMs: now().wallMs))
    return true
  }

  private func changeCodec() {
    if let recorder {
      end(.codecChange)
      previous = recorder.previous ?? previous
    }
    state = .idle
  }

  /// Records a notification.
  func receive(_ value: [UInt8]) {
    let moment = now()
    switch state {
    case .idle: return
    case .recording(let recorder):
      recorder.receive(value, at: moment)
      publishEvents(of: recorder)
    case .failed(let retryAt):
      reopen(retryAt, moment)
      attempt { raw throws(AudioIngestError) in try raw.append(value, at: moment.instant) }
    case .raw: attempt { raw throws(AudioIngestError) in try raw.append(value, at: moment.instant) }
    }
  }

  /// Performs the work that is due while nothing arrives.
  func tick() {
    if let recorder {
      recorder.tick(at: now())
      publishEvents(of: recorder)
    }
    attempt { raw throws(AudioIngestError) in try raw.flush() }
  }

  /// Ends the open segment, or the raw file.
  func end(_ reason: SegmentEnd) {
    if let recorder {
      recorder.end(reason, at: now())
      publishEvents(of: recorder)
    } else {
      attempt { raw throws(AudioIngestError) in try raw.flush() }
      state = .idle
    }
  }

  private func reopen(_ retryAt: Duration, _ moment: Moment) {
    guard moment.instant >= retryAt else { return }
    do throws(AudioIngestError) {
      state = .raw(try folder.beginRaw(capturedAtMs: moment.wallMs))
    } catch {
      // The first failure was published.
      state = .failed(retryAt: moment.instant + RawFile.retryInterval)
    }
  }

  private func attempt(_ body: (RawFile) throws(AudioIngestError) -> Void) {
    guard case .raw(let file) = state else { return }
    do throws(AudioIngestError) {
      try body(file)
    } catch {
      state = .failed(retryAt: now().instant + RawFile.retryInterval)
      output.publish(.problem("\(error)"))
    }
  }

  private func publishEvents(of recorder: StreamRecorder) {
    for event in recorder.takeEvents() {
      if case .finished(let segment) = event { output.deliver(segment) } else { output.publish(.recording(event)) }
    }
  }
}
