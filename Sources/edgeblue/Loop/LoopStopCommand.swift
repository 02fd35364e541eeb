import ArgumentParser
import DurableFiles
import Foundation
import Glibc
import SpeedTest
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
    let end = ContinuousClock.now + limit
    var asked: Int32?
    var agentsLoop: UUID?
    while true {
      if let lock = try FileLock(path: folder.loopLockPath) { return (lock, agentsLoop) }
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
      guard ContinuousClock.now < end else {
        throw Failure("the process that runs the loop does not end within \(limit.inSeconds) s", status: .tryAgain)
      }
      try await Task.sleep(for: .milliseconds(50), clock: .steady)
    }
  }
}
