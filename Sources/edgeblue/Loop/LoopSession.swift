import DurableFiles
import Foundation
import SpeedTest
import Streams
import SystemState

/// A loop that this process runs, with the sources of its events.
struct LoopSession: Sendable {
  let runner: LoopRunner
  private let surroundings: LoopSurroundings
  private let monitor: LocationMonitor?

  /// Creates a session; nothing runs before ``run(following:)``.
  /// - Parameter lock: The lock of the loop's folder, in which the live values are published.
  init(
    _ contents: LoopStore<LoopSettings>.Contents, in folder: SpeedTestFolder, lock: FileLock, terminal: Terminal,
    isAgent: Bool = false, onChange: @escaping @Sendable (LoopUpdate) -> Void = { _ in }
  ) throws {
    // The key and the certificates are read before each test; a mistake in them is told now.
    try contents.settings.test.check(folder)
    monitor = try contents.settings.location.flatMap(\.source).map { try LocationMonitor($0) }
    surroundings = LoopSurroundings(
      contents, folder: folder, lock: lock, terminal: terminal, isAgent: isAgent, onChange: onChange)
    runner = LoopRunner(contents.state, host: surroundings)
  }

  /// Runs the loop until it is over.
  /// - Parameter phases: The phases of this program, which say whether somebody is at the machine.
  /// - Throws: `CancellationError` when the task is cancelled; another session can continue the loop then.
  func run(following phases: BoundedStream<LifecycleUpdate>) async throws -> LoopEnding {
    defer { surroundings.close() }
    return try await withThrowingTaskGroup(of: LoopEnding?.self) { group in
      group.addTask { try await runner.run() }
      group.addTask {
        for await update in phases { await runner.handle(.presence(LoopPresence(update.snapshot))) }
        return nil
      }
      group.addTask {
        await surroundings.followActivity()
        return nil
      }
      if let monitor {
        group.addTask {
          for await update in monitor.updates(limit: 64) { await follow(update) }
          return nil
        }
      }
      defer {
        group.cancelAll()
        monitor?.close()
      }
      for try await ending in group { if let ending { return ending } }
      throw CancellationError()
    }
  }

  private func follow(_ update: LocationUpdate) async {
    switch update {
    case .fix(let fix):
      surroundings.locationChanged("known")
      surroundings.locations?.take(fix)
      await runner.handle(.location(LoopFix(fix)))
    case .searching: surroundings.locationChanged("searching")
    case .unavailable(let error):
      surroundings.locationChanged(error.message + (error.hint.map { " (\($0))" } ?? ""), error)
    case .ended: surroundings.locationChanged("the track has ended")
    }
  }
}
