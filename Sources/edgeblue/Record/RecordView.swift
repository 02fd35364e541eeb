import AudioIngest
import AudioWearables

/// The status of a recording, as lines in a terminal.
struct RecordView: Sendable {
  /// The status of one wearable.
  struct Track: Sendable {
    fileprivate(set) var status = WearableRecorder.Status()
    fileprivate(set) var rate = FrameRate()
    fileprivate var meter = LevelMeter()
    /// The segment that is currently written.
    fileprivate var open: SegmentInfo?
    /// The reason why nothing can be written.
    fileprivate var stall: AudioIngestError?
  }

  private static let meterWidth = 40
  /// The widths, in characters, of the text beside the meter and before a message.
  private static let besideMeter = 22
  private static let beforeMessage = 10
  private static let messageLimit = 6

  let path: String
  let limits: SegmentFolder.Limits
  /// The limit of a segment.
  let maximum: Duration
  private(set) var tracks: [Track]
  var room: SegmentFolder.Room?
  private(set) var finished: (segments: Int, seconds: Double) = (0, 0)
  /// The number of segments that were uploaded with their sidecars since the start.
  var uploaded = 0
  private var messages: [(time: String, text: String)] = []

  init(path: String, limits: SegmentFolder.Limits, maximum: Duration, tracks: Int) {
    self.path = path
    self.limits = limits
    self.maximum = maximum
    self.tracks = Array(repeating: Track(), count: tracks)
  }

  /// Updates the status of a wearable.
  mutating func note(_ status: WearableRecorder.Status, of track: Int, at instant: Duration) {
    tracks[track].status = status
    tracks[track].rate.note(status.live?.counters.frames ?? 0, at: instant)
    // Without a stream, the last level is meaningless.
    let level = status.state == .streaming ? status.live?.level : nil
    tracks[track].meter.note(level ?? LevelMeter.softest, at: instant)
  }

  /// Updates the status with an event.
  mutating func note(_ event: StreamRecorder.Event, of track: Int) {
    switch event {
    case .began(let info):
      tracks[track].open = info
      tracks[track].stall = nil
    case .finished(let segment):
      finished = (finished.segments + 1, finished.seconds + segment.info.duration)
      if tracks[track].open?.id == segment.info.id { tracks[track].open = nil }
    case .dropped: tracks[track].open = nil
    case .stalled(let error):
      tracks[track].open = nil
      tracks[track].stall = error
    }
  }

  /// Adds a message; the latest ones are shown.
  mutating func say(_ text: String, at time: String) {
    messages.append((time, text))
    messages.removeFirst(max(messages.count - Self.messageLimit, 0))
  }

  /// Returns the name of a wearable, as far as it is known.
  func name(of track: Int) -> String {
    guard let device = tracks[track].status.device else { return "The wearable" }
    return device.name.map { "\($0.printable) (\(device.address))" } ?? device.address
  }

  /// - Parameters:
  ///   - width: the number of columns; `nil` if unknown.
  ///   - height: the number of lines; only the latest messages that fit are shown.
  func lines(width: Int? = nil, height: Int = .max, paint: (String, Terminal.Paint) -> String) -> [String] {
    let lines = tracks.indices.flatMap { self.lines(of: $0, width, paint) + [""] } + Self.flow(total, "", width)
    let said = messages.map { message in
      let text = message.text.wrapped(to: width.map { max($0 - Self.beforeMessage, Self.beforeMessage) } ?? .max)
      let margin = String(repeating: " ", count: Self.beforeMessage)
      return ["\(paint(message.time, .dim))  \(text[0])"] + text.dropFirst().map { margin + $0 }
    }
    var shown: [String] = []
    var room = height - lines.count - 1
    // As many complete messages as fit.
    for message in said.reversed() {
      guard message.count <= room || shown.isEmpty else { break }
      shown = message + shown
      room -= message.count
    }
    return lines + (shown.isEmpty ? [] : [""]) + shown
  }

  /// Returns parts side by side as far as they fit, and then below each other.
  private static func flow(_ parts: [String], _ margin: String, _ width: Int?) -> [String] {
    var lines: [String] = []
    for part in parts {
      if let line = lines.last, case let longer = line + " · " + part, longer.columns <= width ?? .max {
        lines[lines.count - 1] = longer
      } else {
        let start = margin + (lines.isEmpty ? "" : "  ")
        let pieces = part.columns + start.count > width ?? .max ? part.wrapped(to: max((width ?? 0) - 6, 6)) : [part]
        lines += [start + pieces[0]] + pieces.dropFirst().map { margin + "    " + $0 }
      }
    }
    return lines
  }

  private func lines(of index: Int, _ width: Int?, _ paint: (String, Terminal.Paint) -> String) -> [String] {
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
    // The name of many wearables contains the model.
    let model = status.model.flatMap { status.device?.name?.contains($0) == true ? nil : [$0.printable] } ?? []
    let title = Self.flow([paint(name(of: index), .bold), state] + model + battery + codec, "", width)
    guard let live = status.live else { return title }
    let speech = live.isSpeech && status.state == .streaming ? "  speech" : ""
    let bar = track.meter.bar(min(max((width ?? .max) - Self.besideMeter, 8), Self.meterWidth))
    return title + ["  ▕\(bar)▏ \(Amounts.decibels(track.meter.level))\(speech)"]
      + Self.flow(Self.numbers(live, track.rate.perSecond), "  ", width)
      + Self.flow(segment(of: track, live, paint), "  ", width) + Self.flow(status.stored?.parts ?? [], "  ", width)
  }

  private static func numbers(_ live: WearableRecorder.Live, _ rate: Double?) -> [String] {
    let counters = live.counters
    let all = counters.frames + counters.lostFrames
    let share = all > 0 ? " (\(Amounts.fixed(Double(counters.lostFrames) * 100 / Double(all), 2)) %)" : ""
    let missing = Double(live.missingSamples) / Double(live.codec.sampleRate)
    let others = [
      (counters.duplicates, "duplicates"), (counters.reordered, "out of order"), (counters.malformed, "malformed"),
      (counters.resets, "restarts"),
    ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    let parts = [
      "\(rate.map { Amounts.fixed($0, 1) } ?? "–") frames/s", "\(counters.lostFrames) of \(all) lost\(share)",
      "\(Amounts.fixed(missing, 2)) s missing",
    ]
    return parts + others
  }

  private func segment(
    of track: Track, _ live: WearableRecorder.Live, _ paint: (String, Terminal.Paint) -> String
  ) -> [String] {
    if let stall = track.stall { return [paint("not recording: \(stall.code)", .red)] }
    guard let open = track.open, let samples = live.openSamples else { return ["no open segment"] }
    let length = Amounts.clock(Double(samples) / Double(open.sampleRate))
    return ["segment \(open.id): \(length) of \(Amounts.clock(maximum / .seconds(1)))", open.name]
  }

  private var total: [String] {
    ["\(finished.segments) segment\(finished.segments == 1 ? "" : "s"), \(Amounts.clock(finished.seconds))"]
      + (uploaded > 0 ? ["\(uploaded) uploaded"] : [])
      + (room.map {
        [
          "\(Amounts.bytes($0.used)) of \(Amounts.bytes(limits.quota)) in \(path.printable)",
          "\(Amounts.bytes($0.free)) free",
        ]
      } ?? [])
  }
}

extension StoredStatus {
  /// The parts of the status line; none if the wearable has no stored recordings.
  fileprivate var parts: [String] {
    guard isFetching || counters.records > 0 else { return [] }
    let others = [
      (counters.repeated, "parts requested again"), (counters.overwritten, "overwritten by the wearable"),
      (counters.replaced, "store changes"), (counters.malformed, "malformed"),
    ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    return ["stored recordings: " + words] + others
  }

  var words: String {
    let here = "\(counters.records) record\(counters.records == 1 ? "" : "s")"
    guard let remaining, remaining > 0 else { return "\(here) fetched" }
    return "\(here) fetched, \(remaining) left"
  }
}

extension ConnectionMachine.State {
  var words: String {
    switch self {
    case .idle: "not started"
    case .searching: "scanning for a wearable"
    case .connecting: "connecting"
    case .subscribing: "subscribing"
    case .streaming: "streaming"
    case .muted: "muted: connected, but no audio arrives"
    case .waiting: "not connected; will reconnect"
    }
  }
}
