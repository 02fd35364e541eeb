import AudioIngest
import Foundation
import Timing
import Uploads

/// Tells a person or a program how a recording goes, until it is ended.
actor RecordDiary {
  private static let drawInterval = Duration.milliseconds(200)
  private static let statusInterval = Duration.seconds(1)
  /// Each file of the folder is looked at for it.
  private static let roomInterval = Duration.seconds(5)

  private let folder: SegmentFolder
  private let terminal: Terminal
  private var view: RecordView
  private var screen = LiveScreen()
  private var roomSeen: Duration?
  /// The segments of which it was told that the server has them.
  private var uploaded: Set<Int> = []

  /// - Parameter maximum: the longest segment.
  init(folder: SegmentFolder, _ terminal: Terminal, maximum: Duration, tracks: Int) {
    (self.folder, self.terminal) = (folder, terminal)
    view = RecordView(path: folder.path, limits: folder.limits, maximum: maximum, tracks: tracks)
  }

  /// Finishes what an earlier recorder has left.
  /// - Throws: `AudioIngestError` when the folder cannot be read.
  func recover() throws {
    let segments = try folder.recover { say(.problem("\($0.message)")) }
    for segment in segments { say(.recovered(segment)) }
  }

  /// Something has become of a segment on its way to the server.
  func note(_ news: SegmentUploads.News) {
    switch news {
    case .uploaded(let segment, let item):
      // Both of its files may arrive at once.
      guard uploaded.insert(segment).inserted else { return }
      view.uploaded = uploaded.count
      say(.uploaded(segment, item))
    case .waits(let segment, let error):
      say(.problem("segment \(segment) waits to be queued: \(error)"))
    }
  }

  /// Uploads what is finished. A recording goes on without it: what is queued stays so.
  private func upload(_ uploads: UploadQueue) async {
    do {
      try await uploads.run()
    } catch is CancellationError {
      // The recording ends.
    } catch {
      say(.problem("nothing is uploaded from here: \(Failure(error).message)"))
    }
  }

  /// Runs recorders until Ctrl-C or SIGTERM, or until one fails, and tells all that happens up to the last segment.
  func follow(_ recorders: [WearableRecorder], _ uploads: UploadQueue? = nil) async throws {
    // Not children of what is cancelled: the last segments are finished after that.
    let readers = recorders.enumerated().map { index, recorder in
      let events = recorder.events(limit: 1024)
      return Task {
        for await event in events {
          // Who it is, and how it stands, belongs to what is told.
          if case .state = event { view.note(await recorder.status(), of: index, at: TimeSource.continuous.now) }
          take(event, of: index)
        }
        if events.dropped > 0 { say(.problem("\(events.dropped) events came too fast to be told")) }
      }
    }
    let result: Result<Void, any Error>
    do {
      try await untilInterrupted {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for recorder in recorders { group.addTask { try await recorder.run() } }
          group.addTask { await self.watch(recorders) }
          if let uploads { group.addTask { await self.upload(uploads) } }
          try await group.waitForAll()
        }
      }
      result = .success(())
    } catch is CancellationError {
      // That is how recording ends.
      result = .success(())
    } catch {
      result = .failure(error)
    }
    for reader in readers { await reader.value }
    draw()
    try result.get()
    if !terminal.isLive { terminal.say(summary) }
  }

  private var summary: String {
    let count = view.finished.segments
    return "\(count == 1 ? "1 segment was" : "\(count) segments were") recorded, "
      + "\(Amounts.clock(view.finished.seconds)) in all"
  }

  // MARK: What happens

  private func take(_ event: WearableRecorder.Event, of track: Int) {
    if case .recording(let event) = event { view.note(event, of: track) }
    say(RecordNews(event), of: track)
  }

  private func say(_ news: RecordNews, of track: Int? = nil) {
    if terminal.isLive {
      // The state has a line of its own.
      if !news.isState { view.say(news.text(view.tracks.count > 1 ? track.map(view.name) : nil), at: Terminal.clock()) }
    } else {
      let device = track.flatMap { view.tracks[$0].status.device?.address }
      terminal.happened(
        news.text(track.map(view.name)), news.name, news.fields.merging(["device": JSON(device)]) { own, _ in own })
    }
  }

  // MARK: How things stand

  private func watch(_ recorders: [WearableRecorder]) async {
    while true {
      for (index, recorder) in recorders.enumerated() {
        view.note(await recorder.status(), of: index, at: TimeSource.continuous.now)
        if terminal.json { terminal.happened("", "status", view.tracks[index].json) }
      }
      draw()
      do {
        try await Task.sleep(for: terminal.isLive ? Self.drawInterval : Self.statusInterval, clock: .steady)
      } catch {
        return
      }
    }
  }

  private func draw() {
    guard terminal.isLive else { return }
    let now = TimeSource.continuous.now
    if roomSeen.map({ now - $0 >= Self.roomInterval }) ?? true {
      roomSeen = now
      do { view.room = try folder.room() } catch { view.room = nil }
    }
    let height = LiveScreen.height - 1
    let lines = view.lines(width: LiveScreen.width, height: height, paint: terminal.paint)
    Output.write(screen.frame(Array(lines.prefix(height))))
  }
}

/// Something that happened to a recording, for people and for programs.
struct RecordNews {
  /// What programs call it.
  let name: String
  let fields: [String: JSON]
  private let words: (String?) -> String

  var isState: Bool { name == "state" }

  /// In words; with the name of the wearable, where that is not clear.
  func text(_ device: String?) -> String { words(device) }

  private init(_ name: String, _ fields: [String: JSON], _ words: @escaping (String?) -> String) {
    (self.name, self.fields, self.words) = (name, fields, words)
  }

  init(_ event: WearableRecorder.Event) {
    switch event {
    case .state(let state):
      self.init("state", ["state": .string(state.rawValue)]) { "\($0 ?? "The wearable"): \(state.words)" }
    case .problem(let text): self = .problem(text)
    case .stored(let status):
      self.init("stored", status.json) {
        Self.about($0, "what it stored while nobody listened: \(status.words)")
      }
    case .recording(.began(let info)):
      self.init("segment-began", ["id": .number(info.id), "name": .string(info.name)]) {
        Self.about($0, "segment \(info.id) was begun")
      }
    case .recording(.finished(let segment)):
      self.init("segment", segment.json) { Self.about($0, "\(segment.headline), in \(segment.path.printable)") }
    case .recording(.dropped(let samples)):
      self.init("dropped", ["samples": .number(samples)]) {
        Self.about($0, "a segment had hardly any speech, and went")
      }
    case .recording(.stalled(let error)):
      self.init("stalled", ["error": .string(error.message), "hint": JSON(error.hint)]) {
        Self.about($0, "nothing can be written: \(error.message.printable); it is tried again every second")
      }
    }
  }

  static func problem(_ text: String) -> RecordNews {
    RecordNews("problem", ["error": .string(text)]) { about($0, text.printable) }
  }

  static func recovered(_ segment: FinishedSegment) -> RecordNews {
    RecordNews("recovered", segment.json) { _ in "what a recorder had left became \(segment.headline)" }
  }

  /// - Parameter item: whichever of the segment's files came last.
  static func uploaded(_ segment: Int, _ item: UploadItem) -> RecordNews {
    let key = item.request.key
    let stem = key[..<(key.lastIndex(of: ".") ?? key.endIndex)]
    let fields: [String: JSON] = [
      "id": .number(segment), "bucket": .string(item.request.bucket), "key": .string(stem + ".wav"),
    ]
    return RecordNews("uploaded", fields) { _ in "segment \(segment) is uploaded, with its sidecar" }
  }

  private static func about(_ device: String?, _ text: String) -> String { device.map { "\($0): \(text)" } ?? text }
}

extension RecordView.Track {
  /// For programs.
  var json: [String: JSON] {
    var fields: [String: JSON] = [
      "state": .string(status.state.rawValue), "device": JSON(status.device?.address),
      "deviceName": JSON(status.device?.name), "model": JSON(status.model), "battery": JSON(status.battery),
    ]
    if let stored = status.stored { fields["stored"] = .object(stored.json) }
    guard let live = status.live else { return fields }
    let counters = live.counters
    fields["codec"] = .string(live.codec.rawValue)
    fields["framesPerSecond"] = rate.perSecond.map { .decimal($0.tenths) } ?? .null
    fields["levelDB"] = .decimal(live.level.tenths)
    fields["isSpeech"] = .bool(live.isSpeech)
    fields["missingSamples"] = .number(live.missingSamples)
    fields["openSamples"] = JSON(live.openSamples)
    fields["counters"] = .object([
      "notifications": .number(counters.notifications), "bytes": .number(counters.bytes),
      "frames": .number(counters.frames), "lostFrames": .number(counters.lostFrames),
      "truncatedFrames": .number(counters.truncatedFrames), "oversizedFrames": .number(counters.oversizedFrames),
      "orphanFragments": .number(counters.orphanFragments), "lostPackets": .number(counters.lostPackets),
      "duplicates": .number(counters.duplicates), "reordered": .number(counters.reordered),
      "late": .number(counters.late), "malformed": .number(counters.malformed), "resets": .number(counters.resets),
    ])
    return fields
  }
}

extension StoredStatus {
  /// For programs.
  fileprivate var json: [String: JSON] {
    [
      "isFetching": .bool(isFetching), "remaining": JSON(remaining), "records": .number(counters.records),
      "bytes": .number(counters.bytes), "malformed": .number(counters.malformed),
      "repeated": .number(counters.repeated), "overwritten": .number(counters.overwritten),
      "replaced": .number(counters.replaced), "empty": .number(counters.empty),
    ]
  }
}

extension Double {
  /// To a tenth: more of a level or a rate means nothing.
  fileprivate var tenths: Double { (self * 10).rounded() / 10 }
}
