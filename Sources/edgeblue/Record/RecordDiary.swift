import AudioIngest
import AudioWearables
import Foundation
import JSONValues
import Timing
import UnixSignals
import Uploads

/// Prints the status and events of a recording until it ends.
actor RecordDiary {
  private static let drawInterval = Duration.milliseconds(200)
  private static let statusInterval = Duration.seconds(1)
  /// The interval at which the used space is measured, which reads every file of the folder.
  private static let roomInterval = Duration.seconds(5)

  private let folder: SegmentFolder
  private let terminal: Terminal
  private var view: RecordView
  private var screen = LiveScreen()
  private var roomSeen: Duration?
  /// The segments whose upload was printed.
  private var uploaded: Set<Int> = []

  /// - Parameter maximum: the limit of a segment.
  init(folder: SegmentFolder, _ terminal: Terminal, maximum: Duration, tracks: Int) {
    self.folder = folder
    self.terminal = terminal
    view = RecordView(path: folder.path, limits: folder.limits, maximum: maximum, tracks: tracks)
  }

  /// Finishes the segments that an earlier recorder left open.
  /// - Throws: `AudioIngestError` when the folder cannot be read.
  func recover() throws {
    let segments = try folder.recover { say(.problem("\($0.message)")) }
    for segment in segments { say(.recovered(segment)) }
  }

  /// Prints the upload of a segment.
  func note(_ news: SegmentUploads.News) {
    switch news {
    case .uploaded(let segment, let item):
      // Both files of a segment may be uploaded at once.
      guard uploaded.insert(segment).inserted else { return }
      view.uploaded = uploaded.count
      say(.uploaded(segment, item))
    case .waits(let segment, let error):
      say(.problem("segment \(segment) is not queued yet: \(Failure(error).message)"))
    }
  }

  /// Prints the end of a segment's command.
  func note(_ news: SegmentCommands.News) { say(.command(news)) }

  /// Prints a problem that does not end the recording.
  func note(problem: String) { say(.problem(problem)) }

  /// Uploads finished segments. If uploads fail, the recording continues, and the items stay queued.
  private func upload(_ uploads: UploadQueue) async {
    do {
      try await uploads.run()
    } catch is CancellationError {
      // The recording has ended.
    } catch {
      say(.problem("uploads stopped: \(Failure(error).message)"))
    }
  }

  /// Runs recorders until Ctrl-C or SIGTERM, or until one fails, and prints all events including the last segment.
  func follow(
    _ recorders: [WearableRecorder], _ uploads: UploadQueue? = nil, _ commands: SegmentCommands? = nil
  ) async throws {
    // Not children of the cancelled task: the last segments are finished after the cancellation.
    let readers = recorders.enumerated().map { index, recorder in
      let events = recorder.events(limit: 1024)
      return Task {
        for await event in events {
          // An event needs the current name and status of the wearable.
          if case .state = event { view.note(await recorder.status(), of: index, at: TimeSource.continuous.now) }
          if case .recording(.finished(let segment)) = event { await commands?.add(segment) }
          take(event, of: index)
        }
        if events.dropped > 0 { say(.problem("\(events.dropped) events were dropped")) }
      }
    }
    // It goes on for the last segments.
    let running = commands.map { commands in Task { await commands.run() } }
    let impatience: Task<Void, Never>? = if let running { await Self.cancelling(running) } else { nil }
    defer { impatience?.cancel() }
    let result: Result<Void, any Error>
    do {
      try await untilInterrupted { try await self.run(recorders, uploads) }
      result = .success(())
    } catch is CancellationError {
      // Ctrl-C ends a recording.
      result = .success(())
    } catch {
      result = .failure(error)
    }
    for reader in readers { await reader.value }
    if let commands, let running { await finish(commands, running) }
    draw()
    try result.get()
    if !terminal.isLive { terminal.say(summary) }
  }

  /// Runs recorders until the task is cancelled, or until one fails, which ends the others.
  func run(_ recorders: [WearableRecorder], _ uploads: UploadQueue?) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for recorder in recorders { group.addTask { try await recorder.run() } }
      group.addTask { await self.watch(recorders) }
      if let uploads { group.addTask { await self.upload(uploads) } }
      // One after the other: `waitForAll()` throws an error when all have ended, and these go on.
      while try await group.next() != nil {}
    }
  }

  /// Returns a task that cancels another one at the second Ctrl-C or SIGTERM from now on: none is lost between the end of
  /// the recording and the last commands.
  private static func cancelling(_ running: Task<Void, Never>) async -> Task<Void, Never> {
    let signals = await UnixSignalsSequence(trapping: StopSignals.all)
    return Task {
      for await _ in signals.dropFirst() { running.cancel() }
    }
  }

  /// Has the command run for the segments that it was not run for, until its limit has passed, or the second signal.
  private func finish(_ commands: SegmentCommands, _ running: Task<Void, Never>) async {
    await commands.end()
    let waiting = await commands.left
    if waiting > 0, !running.isCancelled { say(.lastCommands(waiting)) }
    draw()
    do {
      try await commands.finish(running)
    } catch {
      // The limit has passed; what the command was not run for is counted.
    }
    let left = await commands.left
    if left > 0 { say(.commandsLeft(left)) }
  }

  private var summary: String {
    let count = view.finished.segments
    return "recorded \(count == 1 ? "1 segment" : "\(count) segments"), "
      + "\(Amounts.clock(view.finished.seconds)) in total"
  }

  // MARK: What happens

  private func take(_ event: WearableRecorder.Event, of track: Int) {
    if case .recording(let event) = event { view.note(event, of: track) }
    say(RecordNews(event), of: track)
    // Of a segment that continues another one it was said before.
    if case .recording(.began(let info)) = event, info.previous?.closedBy != .maximum,
      let problem = RecordNews.early(info, nowMs: WallClock.unixMilliseconds())
    {
      say(problem, of: track)
    }
  }

  private func say(_ news: RecordNews, of track: Int? = nil) {
    if terminal.isLive {
      // The state has its own line.
      if !news.isState { view.say(news.text(view.tracks.count > 1 ? track.map(view.name) : nil), at: Terminal.clock()) }
    } else {
      let device = track.flatMap { view.tracks[$0].status.device?.address }
      terminal.happened(
        news.text(track.map(view.name)), news.name, news.fields.merging(["device": JSONValue(device)]) { own, _ in own }
      )
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
