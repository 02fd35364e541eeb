import AudioIngest

/// How a recording stands, as lines in a terminal: what is known goes in, lines come out.
struct RecordView: Sendable {
  /// One wearable.
  struct Track: Sendable {
    fileprivate(set) var status = WearableRecorder.Status()
    fileprivate(set) var rate = FrameRate()
    fileprivate var meter = LevelMeter()
    /// The segment that is being written.
    fileprivate var open: SegmentInfo?
  }

  private static let meterWidth = 40
  private static let messageLimit = 6

  let path: String
  let limits: SegmentFolder.Limits
  /// The longest segment.
  let maximum: Duration
  private(set) var tracks: [Track]
  var room: SegmentFolder.Room?
  private(set) var finished: (segments: Int, seconds: Double) = (0, 0)
  /// How many segments the server has with their sidecars, of those that got there meanwhile.
  var uploaded = 0
  private var messages: [(time: String, text: String)] = []

  init(path: String, limits: SegmentFolder.Limits, maximum: Duration, tracks: Int) {
    (self.path, self.limits, self.maximum) = (path, limits, maximum)
    self.tracks = Array(repeating: Track(), count: tracks)
  }

  /// Takes how a wearable stands.
  mutating func note(_ status: WearableRecorder.Status, of track: Int, at instant: Duration) {
    tracks[track].status = status
    tracks[track].rate.note(status.live?.counters.frames ?? 0, at: instant)
    // What was heard last says nothing when nothing comes.
    let level = status.state == .streaming ? status.live?.level : nil
    tracks[track].meter.note(level ?? LevelMeter.softest, at: instant)
  }

  /// Takes what happened.
  mutating func note(_ event: StreamRecorder.Event, of track: Int) {
    switch event {
    case .began(let info): tracks[track].open = info
    case .finished(let segment):
      finished = (finished.segments + 1, finished.seconds + segment.info.duration)
      if tracks[track].open?.id == segment.info.id { tracks[track].open = nil }
    case .dropped, .stalled: tracks[track].open = nil
    }
  }

  /// Takes a message; the last few are shown.
  mutating func say(_ text: String, at time: String) {
    messages.append((time, text))
    messages.removeFirst(max(messages.count - Self.messageLimit, 0))
  }

  /// Who a track is, as far as it is known.
  func name(of track: Int) -> String {
    guard let device = tracks[track].status.device else { return "The wearable" }
    return device.name.map { "\($0.printable) (\(device.address))" } ?? device.address
  }

  func lines(paint: (String, Terminal.Paint) -> String) -> [String] {
    tracks.indices.flatMap { lines(of: $0, paint) + [""] } + [total]
      + (messages.isEmpty ? [] : [""]) + messages.map { "\(paint($0.time, .dim))  \($0.text)" }
  }

  private func lines(of index: Int, _ paint: (String, Terminal.Paint) -> String) -> [String] {
    let track = tracks[index]
    let status = track.status
    let colour: Terminal.Paint? =
      switch status.state {
      case .streaming: .green
      case .muted, .connecting, .subscribing: .yellow
      case .waiting: .red
      case .idle, .searching: nil
      }
    let state = colour.map { paint(status.state.words, $0) } ?? status.state.words
    let battery = status.battery.map { ["battery \($0) %"] } ?? []
    let codec = status.live.map { [$0.codec.words] } ?? []
    // Many have their model's name.
    let model = status.model.flatMap { status.device?.name?.contains($0) == true ? nil : [$0] } ?? []
    let title = ([paint(name(of: index), .bold), state] + model + battery + codec).joined(separator: " · ")
    guard let live = status.live else { return [title] }
    let speech = live.isSpeech && status.state == .streaming ? "  speech" : ""
    return [
      title, "  ▕\(track.meter.bar(Self.meterWidth))▏ \(Amounts.decibels(track.meter.level))\(speech)",
      "  " + Self.numbers(live, track.rate.perSecond), "  " + segment(of: track, live),
    ] + (status.stored?.line.map { ["  " + $0] } ?? [])
  }

  private static func numbers(_ live: WearableRecorder.Live, _ rate: Double?) -> String {
    let counters = live.counters
    let all = counters.frames + counters.lostFrames
    let share = all > 0 ? " (\(Amounts.fixed(Double(counters.lostFrames) * 100 / Double(all), 2)) %)" : ""
    let missing = Double(live.missingSamples) / Double(live.codec.sampleRate)
    let others = [
      (counters.duplicates, "twice"), (counters.reordered, "out of order"), (counters.malformed, "malformed"),
      (counters.resets, "new beginnings"),
    ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    let parts = [
      "\(rate.map { Amounts.fixed($0, 1) } ?? "–") frames/s", "\(counters.lostFrames) of \(all) lost\(share)",
      "\(Amounts.fixed(missing, 2)) s missing",
    ]
    return (parts + others).joined(separator: " · ")
  }

  private func segment(of track: Track, _ live: WearableRecorder.Live) -> String {
    guard let open = track.open, let samples = live.openSamples else { return "no segment is open" }
    let length = Amounts.clock(Double(samples) / Double(open.sampleRate))
    return "segment \(open.id): \(length) of \(Amounts.clock(maximum / .seconds(1))) · \(open.name)"
  }

  private var total: String {
    let parts =
      ["\(finished.segments) segment\(finished.segments == 1 ? "" : "s"), \(Amounts.clock(finished.seconds))"]
      + (uploaded > 0 ? ["\(uploaded) uploaded"] : [])
      + (room.map {
        [
          "\(Amounts.bytes($0.used)) of \(Amounts.bytes(limits.quota)) in \(path.printable)",
          "\(Amounts.bytes($0.free)) free",
        ]
      } ?? [])
    return parts.joined(separator: " · ")
  }
}

extension StoredStatus {
  /// How it stands; `nil` when the device had nothing.
  fileprivate var line: String? {
    guard isFetching || counters.records > 0 else { return nil }
    let others = [
      (counters.repeated, "pieces asked for again"), (counters.overwritten, "overwritten by the device"),
      (counters.replaced, "times another store"), (counters.malformed, "malformed"),
    ].filter { $0.0 > 0 }.map { " · \($0.0) \($0.1)" }.joined()
    return "stored while nobody listened: " + words + others
  }

  var words: String {
    let here = "\(counters.records) record\(counters.records == 1 ? "" : "s")"
    guard let remaining, remaining > 0 else { return "\(here) fetched" }
    return "\(here) fetched, \(remaining) to come"
  }
}

extension LinkMachine.State {
  var words: String {
    switch self {
    case .idle: "not begun"
    case .searching: "looking for a wearable"
    case .connecting: "connecting"
    case .subscribing: "subscribing"
    case .streaming: "streaming"
    case .muted: "silent: the link lives, and no audio comes"
    case .waiting: "no link; soon tried again"
    }
  }
}

extension AudioCodec {
  var words: String {
    switch self {
    case .pcm16k: "PCM, 16 kHz"
    case .pcm8k: "PCM, 8 kHz"
    case .muLaw16k: "µ-law, 16 kHz"
    case .muLaw8k: "µ-law, 8 kHz"
    case .opus10ms: "Opus, frames of 10 ms"
    case .opus20ms: "Opus, frames of 20 ms"
    }
  }
}
