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

  /// Runs the command for what is added, until the task is cancelled, which ends the command.
  func run() async {
    while !Task.isCancelled {
      let now = clock.now
      guard let index = waiting.firstIndex(where: { $0.due <= now }) else {
        do { try await clock.sleep(for: Self.interval) } catch { return }
        continue
      }
      await run(waiting.remove(at: index))
    }
  }

  private func run(_ turn: Waiting) async {
    let segment = turn.segment
    // It was removed for space, or by a user.
    guard FileManager.default.fileExists(atPath: segment.path) else { return }
    var problem: String?
    do {
      let result = try await command.program(for: segment).run()
      problem = result.problem.map { result.lastLine.isEmpty ? $0 : "\($0): \(result.lastLine)" }
    } catch is CancellationError {
      return
    } catch {
      problem = Failure(error).message
    }
    if let failure = note(problem, segment) { problem = problem ?? failure }
    guard let problem else { return await told(.succeeded(segment)) }
    var again = turn
    again.failures += 1
    let delay = again.failures <= Self.delays.count ? Self.delays[again.failures - 1] : nil
    if let delay {
      again.due = clock.now + delay
      waiting.append(again)
    }
    await told(.failed(segment, problem, retry: delay))
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
