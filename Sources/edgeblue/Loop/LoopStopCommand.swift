import ArgumentParser
import DurableFiles
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
      guard let lock = try await Self.takeLoop(folder) else {
        throw Failure("there is no loop", hint: "`edgeblue loop start` starts one", status: .unavailable)
      }
      defer { lock.release() }
      guard let contents = try folder.loop.load() else {
        throw Failure("there is no loop", hint: "`edgeblue loop start` starts one", status: .unavailable)
      }
      if contents.state.ending != nil {
        terminal.say("The loop is over already.")
        if terminal.json { terminal.print(json: ["stopped": false]) }
        return
      }
      var machine = LoopMachine(contents.state)
      let now = LoopInstant.system()
      let stored = try contents.state.running.flatMap { test in
        try folder.archive.record(of: .init(id: contents.state.id, test: test.number, attempt: test.attempt))
      }
      _ = machine.handle(.launch(stored: stored.map(LoopOutcome.init)), at: now)
      _ = machine.handle(.stop, at: now)
      try folder.loop.save(.init(state: machine.state, settings: contents.settings))
      if terminal.json { terminal.print(json: ["stopped": true]) }
      terminal.say("The loop is stopped after \(machine.state.counter) of \(machine.state.plan.tests) tests.")
    }
  }

  /// Takes the loop from the process that runs it, which is asked to leave; `nil` if there is no folder.
  private static func takeLoop(_ folder: SpeedTestFolder) async throws -> FileLock? {
    guard try Disk().exists(folder.path) else { return nil }
    let end = ContinuousClock.now + limit
    var asked: Int32?
    while true {
      if let lock = try FileLock(path: folder.loopLockPath) { return lock }
      // A service manager may start another one, which is asked as well.
      if let live = try LoopLive.read(folder), live.pid != asked, live.pid > 1 {
        guard kill(live.pid, SIGTERM) == 0 || errno == ESRCH else {
          throw Failure("process \(live.pid), which runs the loop, is that of another user", status: .notPermitted)
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

extension JSON: ExpressibleByDictionaryLiteral {
  init(dictionaryLiteral elements: (String, JSON)...) {
    self = .object(Dictionary(elements) { $1 })
  }
}
