import ArgumentParser
import DurableFiles
import Foundation
import SpeedTest
import SystemState

/// `edgeblue loop start`
struct LoopStartCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "start",
    abstract: "Start a loop, or continue the one that is not over.",
    discussion: """
      The command runs until the loop is over. Ctrl-C and SIGTERM leave it unfinished: `edgeblue loop start` continues it, \
      also after a reboot, and `edgeblue loop stop` ends it. Without options it continues; with other options than those \
      that the unfinished loop was started with it refuses.

      A test begins only while somebody is at the machine: the session is active and neither locked nor idle. Otherwise a \
      desktop notification says that it is due, and a test that runs is aborted and counts. --unattended is for machines \
      without a seat. While the next test is not due, an inhibitor of logind keeps the machine awake where logind grants it.

      A test that fails is repeated once after 60 s. Then the loop waits as if it had run.
      """)

  @OptionGroup var client: SpeedTestClientOptions
  @OptionGroup var loop: LoopOptions
  @OptionGroup var state: SpeedTestFolderOptions
  @OptionGroup var common: CommonOptions

  func validate() throws { try client.checkTLS() }

  func run() async throws {
    try await common.run { terminal in
      let folder = try state.folder()
      try folder.create()
      guard let lock = try FileLock(path: folder.loopLockPath, attempts: 20) else {
        throw SpeedTestError(.busy, "the loop is running already")
      }
      defer { lock.release() }
      lock.clear()
      let contents = try contents(in: folder)
      // The key and the certificates are read before each test; a mistake in them is told now.
      _ = try contents.settings.test.client()
      let lifecycle = try await LifecycleMonitor.start()
      try checkSomebodyCanBeThere(contents.state.plan, lifecycle)
      let monitor = try contents.settings.location.flatMap(\.source).map { try LocationMonitor($0) }
      let surroundings = LoopSurroundings(contents, folder: folder, lock: lock, terminal: terminal)
      defer { surroundings.close() }
      let runner = LoopRunner(contents.state, host: surroundings)
      do {
        let ending = try await untilInterrupted {
          try await Self.run(runner, surroundings, lifecycle, monitor)
        }
        guard ending == .completed else { return }
        terminal.say("`edgeblue loop history` lists the tests, and `edgeblue loop plot` draws them.")
      } catch is CancellationError {
        terminal.happened(
          "stopped; `edgeblue loop start` continues the loop, `edgeblue loop stop` ends it", "interrupted")
      }
    }
  }

  // MARK: The loop to run

  /// The stored loop that is not over, or a new one, which is stored.
  private func contents(in folder: SpeedTestFolder) throws -> LoopStore<LoopSettings>.Contents {
    let stored = try folder.loop.load()
    let wanted = client.settings.map { LoopSettings(test: $0, location: loop.location) }
    if let stored, stored.state.ending == nil {
      let isSame = try wanted.map { try $0 == stored.settings && loop.plan() == stored.state.plan }
      guard isSame ?? (!client.isAnyGiven && !loop.isAnyGiven) else {
        throw Failure(
          "a loop with other settings is not over: \(stored.state.counter) of \(stored.state.plan.tests) tests have begun",
          hint: "`edgeblue loop start` without options continues it, and `edgeblue loop stop` ends it",
          status: .badInput)
      }
      return stored
    }
    guard let wanted else {
      throw Failure("there is no loop to continue", hint: "--server starts a new one", status: .unavailable)
    }
    if let stored { try folder.moveAside(stored.state) }
    let new = LoopState(id: UUID(), plan: try loop.plan(), at: LoopInstant.system())
    let contents = LoopStore<LoopSettings>.Contents(state: new, settings: wanted)
    try folder.loop.save(contents)
    return contents
  }

  private func checkSomebodyCanBeThere(_ plan: LoopPlan, _ lifecycle: LifecycleMonitor) throws {
    guard !plan.isUnattended, lifecycle.snapshot.reason == .headless else { return }
    throw Failure(
      "no login session shows whether somebody is at this machine", hint: "--unattended runs tests without anybody",
      status: .unavailable)
  }

  // MARK: Events

  private static func run(
    _ runner: LoopRunner, _ surroundings: LoopSurroundings, _ lifecycle: LifecycleMonitor, _ monitor: LocationMonitor?
  ) async throws -> LoopEnding {
    try await withThrowingTaskGroup(of: LoopEnding?.self) { group in
      group.addTask { try await runner.run() }
      group.addTask {
        for await update in lifecycle.updates() { await runner.handle(.presence(LoopPresence(update.snapshot))) }
        return nil
      }
      group.addTask {
        await surroundings.followActivity()
        return nil
      }
      if let monitor {
        group.addTask {
          for await update in monitor.updates(limit: 64) { await follow(update, runner, surroundings) }
          return nil
        }
      }
      defer {
        group.cancelAll()
        lifecycle.close()
        monitor?.close()
      }
      for try await ending in group { if let ending { return ending } }
      throw CancellationError()
    }
  }

  private static func follow(_ update: LocationUpdate, _ runner: LoopRunner, _ surroundings: LoopSurroundings) async {
    switch update {
    case .fix(let fix):
      surroundings.locationChanged("known")
      if let fix = LoopFix(fix) { await runner.handle(.location(fix)) }
    case .searching: surroundings.locationChanged("searching")
    case .unavailable(let reason): surroundings.locationChanged(reason)
    case .ended: surroundings.locationChanged("the track has ended")
    }
  }
}
