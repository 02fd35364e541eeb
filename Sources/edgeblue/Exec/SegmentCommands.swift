import AudioIngest
import Foundation
import Timing

/// Runs a command for each finished segment of a folder, one at a time, and again after a failure.
actor SegmentCommands {
  /// The end of one run.
  enum News: Sendable {
    case succeeded(FinishedSegment)
    /// The command has failed; after the delay it is run again, without one by the next recorder.
    case failed(FinishedSegment, String, retry: Duration?)
  }

  private struct Waiting {
    let segment: FinishedSegment
    var due: Duration
    /// The number of failures since this program started.
    var failures = 0
  }

  /// The delays before the command is run again.
  static let delays: [Duration] = [.seconds(10), .seconds(60), .seconds(600)]
  private static let interval = Duration.milliseconds(200)

  private let command: SegmentCommand
  private let clock: TimeSource
  private let told: @Sendable (News) async -> Void
  private var waiting: [Waiting] = []
  private var known: Set<Int> = []
  private var isRunning = false
  private var isEnding = false

  /// The number of segments that the command has not succeeded for.
  var left: Int { waiting.count + (isRunning ? 1 : 0) }

  init(
    _ command: SegmentCommand, clock: TimeSource = .continuous, told: @escaping @Sendable (News) async -> Void
  ) {
    self.command = command
    self.clock = clock
    self.told = told
  }

  /// Adds a segment, once, unless the command has succeeded for it before.
  func add(_ segment: FinishedSegment) {
    guard known.insert(segment.info.id).inserted else { return }
    let result = SegmentCommandResult.read(segment)
    if let result, result.problem == nil { return }
    waiting.append(Waiting(segment: segment, due: clock.now))
  }

  /// Runs the command for what is added, until the task is cancelled, which ends the command, or nothing is left after
  /// ``end()``.
  func run() async {
    while !Task.isCancelled {
      let now = clock.now
      guard let index = waiting.firstIndex(where: { $0.due <= now }) else {
        if isEnding { return }
        do { try await clock.sleep(for: Self.interval) } catch { return }
        continue
      }
      let turn = waiting.remove(at: index)
      isRunning = true
      let isCancelled = await !run(turn)
      isRunning = false
      if isCancelled { waiting.insert(turn, at: 0) }
    }
  }

  /// Lets ``run()`` return once the command was run for each segment; after a failure the next recorder runs it again.
  func end() {
    isEnding = true
    waiting.removeAll { $0.failures > 0 }
  }

  /// Waits after ``end()`` until ``run()`` has returned, for the limit of one command; then, and when this task is
  /// cancelled, the command is ended.
  /// - Parameter running: The task of ``run()``.
  /// - Throws: `CancellationError` if the command was ended.
  func finish(_ running: Task<Void, Never>) async throws {
    try await clock.withLimit(command.limit, orThrow: CancellationError()) {
      await withTaskCancellationHandler {
        await running.value
      } onCancel: {
        running.cancel()
      }
    }
  }

  /// - Returns: `false` if the task was cancelled before the command had ended.
  private func run(_ turn: Waiting) async -> Bool {
    let segment = turn.segment
    // It was removed for space, or by a user.
    guard FileManager.default.fileExists(atPath: segment.path) else { return true }
    var problem: String?
    do {
      problem = try await transcribe(segment)
    } catch is CancellationError {
      return false
    } catch {
      problem = Failure(error).message
    }
    if let failure = note(problem, segment) { problem = problem ?? failure }
    guard let problem else {
      await told(.succeeded(segment))
      return true
    }
    var again = turn
    again.failures += 1
    let delay = again.failures <= Self.delays.count && !isEnding ? Self.delays[again.failures - 1] : nil
    if let delay {
      again.due = clock.now + delay
      waiting.append(again)
    }
    await told(.failed(segment, problem, retry: delay))
    return true
  }

  /// Runs the command, and publishes the transcript that it has written; without success nothing of that stays.
  /// - Returns: The reason why the command failed; `nil` if it succeeded.
  private func transcribe(_ segment: FinishedSegment) async throws -> String? {
    let draft = TranscriptDraft(of: segment)
    do {
      try draft.remove()
      let result = try await command.program(for: segment).run()
      guard let problem = result.problem else {
        try draft.publish()
        return nil
      }
      try draft.remove()
      return result.lastLine.isEmpty ? problem : "\(problem): \(result.lastLine)"
    } catch {
      // The first error is thrown; a file that stays is removed by the next run or recorder.
      try? draft.remove()
      throw error
    }
  }

  /// Records the end of a run beside the segment.
  /// - Returns: The problem if that failed.
  private func note(_ problem: String?, _ segment: FinishedSegment) -> String? {
    let attempts = (SegmentCommandResult.read(segment)?.attempts ?? 0) + 1
    let now = Date.now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    do {
      try SegmentCommandResult(attempts: attempts, problem: problem, finishedAt: now).write(for: segment)
      return nil
    } catch {
      return "its result is not recorded: \(error)"
    }
  }
}
