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
    /// Why nothing can be written.
    fileprivate var stall: AudioIngestError?
  }

  private static let meterWidth = 40
  /// The letters beside the meter, and those before a message.
  private static let besideMeter = 22
  private static let beforeMessage = 10
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
    self.path = path
    self.limits = limits
    self.maximum = maximum
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

  /// - Parameters:
  ///   - width: how many letters fit beside each other; `nil` where that is not known.
  ///   - height: how many lines fit below each other: of what was said the last ones are shown.
  func lines(width: Int? = nil, height: Int = .max, paint: (String, Terminal.Paint) -> String) -> [String] {
    let lines = tracks.indices.flatMap { self.lines(of: $0, width, paint) + [""] } + Self.flow(total, "", width)
    let said = messages.map { message in
      let text = message.text.wrapped(to: width.map { max($0 - Self.beforeMessage, Self.beforeMessage) } ?? .max)
      let margin = String(repeating: " ", count: Self.beforeMessage)
      return ["\(paint(message.time, .dim))  \(text[0])"] + text.dropFirst().map { margin + $0 }
    }
    var shown: [String] = []
    var room = height - lines.count - 1
    // Whole ones, as many as there is room for.
    for message in said.reversed() {
      guard message.count <= room || shown.isEmpty else { break }
      shown = message + shown
      room -= message.count
    }
    return lines + (shown.isEmpty ? [] : [""]) + shown
  }

  /// Parts beside each other as far as there is room, and then below.
  private static func flow(_ parts: [String], _ margin: String, _ width: Int?) -> [String] {
    var lines: [String] = []
    for part in parts {
      if let line = lines.last, case let longer = line + " · " + part, longer.letters <= width ?? .max {
        lines[lines.count - 1] = longer
      } else {
        let start = margin + (lines.isEmpty ? "" : "  ")
        let pieces = part.letters + start.count > width ?? .max ? part.wrapped(to: max((width ?? 0) - 6, 6)) : [part]
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
    // Many have their model's name.
    let model = status.model.flatMap { status.device?.name?.contains($0) == true ? nil : [$0] } ?? []
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
      (counters.duplicates, "twice"), (counters.reordered, "out of order"), (counters.malformed, "malformed"),
      (counters.resets, "new beginnings"),
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
    if let stall = track.stall { return [paint("nothing is kept: \(stall.code)", .red)] }
    guard let open = track.open, let samples = live.openSamples else { return ["no segment is open"] }
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
  /// How it stands; nothing when the device had nothing.
  fileprivate var parts: [String] {
    guard isFetching || counters.records > 0 else { return [] }
    let others = [
      (counters.repeated, "pieces asked for again"), (counters.overwritten, "overwritten by the device"),
      (counters.replaced, "times another store"), (counters.malformed, "malformed"),
    ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    return ["stored while nobody listened: " + words] + others
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
