import ArgumentParser
import DurableFiles
import Foundation
import Glibc
import SpeedTest
import Streams
import Timing

/// `edgeblue loop stop`
struct LoopStopCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stop", abstract: "End the loop for good.",
    discussion: """
      A test that runs is cancelled first. The loop cannot be continued afterwards; its history stays.
      """)

  @OptionGroup var state: SpeedTestFolderOptions
  @OptionGroup var common: CommonOptions

  /// The timeout for the process that runs the loop, which closes its connections first.
  private static let limit = Duration.seconds(30)

  func run() async throws {
    try await common.run { terminal in
      let folder = try state.folder()
      guard let (lock, agentsLoop) = try await Self.takeLoop(folder) else { throw Self.noLoop }
      defer { lock.release() }
      guard let contents = try folder.loop.load() else { throw Self.noLoop }
      var state = contents.state
      if let ending = state.ending, ending == .completed || state.id != agentsLoop {
        terminal.say("The loop is over already.")
        if terminal.json { terminal.print(json: ["stopped": false]) }
        return
      }
      if state.ending == nil {
        state = try Self.stopped(state, folder)
        try folder.loop.save(.init(state: state, settings: contents.settings))
      }
      if terminal.json { terminal.print(json: ["stopped": true]) }
      terminal.say("The loop is stopped after \(state.counter) of \(state.plan.tests) tests.")
    }
  }

  private static var noLoop: Failure {
    Failure("there is no loop", hint: "`edgeblue loop start` starts one", status: .unavailable)
  }

  /// Returns the state of a loop that no process runs after its end.
  private static func stopped(_ state: LoopState, _ folder: SpeedTestFolder) throws -> LoopState {
    var machine = LoopMachine(state)
    let now = LoopInstant.system()
    let stored = try state.running.flatMap { test in
      try folder.archive.record(of: .init(id: state.id, test: test.number, attempt: test.attempt))
    }
    _ = machine.handle(.launch(stored: stored.map(LoopOutcome.init)), at: now)
    _ = machine.handle(.stop, at: now)
    return machine.state
  }

  /// Takes the loop from the process that runs it: a program of the loop's own is asked to leave, an agent to end the loop.
  /// - Returns: The lock, and the loop that an agent was asked to end; `nil` if there is no folder.
  private static func takeLoop(_ folder: SpeedTestFolder) async throws -> (FileLock, agentsLoop: UUID?)? {
    guard try Disk().exists(folder.path) else { return nil }
    // Before the first look, so that no change is missed.
    let watch = try folder.watchLoop(isLive: true)
    return try await withThrowingTaskGroup(of: (FileLock, agentsLoop: UUID?)?.self) { group in
      group.addTask { try await take(folder, after: watch.changes) }
      group.addTask {
        try await Task.sleep(for: limit, clock: .steady)
        throw Failure("the process that runs the loop does not end within \(limit.inSeconds) s", status: .tryAgain)
      }
      defer { group.cancelAll() }
      return try await group.next() ?? nil
    }
  }

  private static func take(
    _ folder: SpeedTestFolder, after changes: BoundedStream<Void>
  ) async throws -> (FileLock, agentsLoop: UUID?)? {
    var asked: Int32?
    var agentsLoop: UUID?
    var next = changes.makeAsyncIterator()
    while true {
      if let lock = try await lock(folder) { return (lock, agentsLoop) }
      // A service manager may start another one, which is asked as well.
      if let live = try LoopLive.read(folder), live.pid != asked, live.pid > 1 {
        if live.isAgent == true {
          agentsLoop = try folder.loop.load()?.state.id
          if let agentsLoop { try folder.requestStop(of: agentsLoop) }
        } else {
          guard kill(live.pid, SIGTERM) == 0 || errno == ESRCH else {
            throw Failure("process \(live.pid), which runs the loop, is that of another user", status: .notPermitted)
          }
        }
        asked = live.pid
      }
      guard await next.next() != nil else {
        try Task.checkCancellation()
        return nil
      }
    }
  }

  /// Returns the lock of the loop if no process holds it.
  private static func lock(_ folder: SpeedTestFolder) async throws -> FileLock? {
    // When a process ends, the kernel reports that its files are closed an instant before it releases their locks.
    for attempt in 0..<10 {
      if attempt > 0 { try await Task.sleep(for: .milliseconds(5), clock: .steady) }
      // An attempt to take what another process holds is a change of the file itself, and would be reported; a look is not.
      if try !FileLock.isHeld(path: folder.loopLockPath), let lock = try FileLock(path: folder.loopLockPath) {
        return lock
      }
    }
    return nil
  }
}
