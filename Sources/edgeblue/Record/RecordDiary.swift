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
    self.folder = folder
    self.terminal = terminal
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
