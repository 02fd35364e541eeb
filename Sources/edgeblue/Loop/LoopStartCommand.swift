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

      With --control a control server grants each test, and takes its result. What it could not take is submitted after the \
      next test, and by `edgeblue speedtest submit`.

      A test that fails is repeated once after 60 s. Then the loop waits as if it had run.

      With --later the loop is stored, and an agent that was started with --loop runs it, if --state names its folder \
      for speed tests: speedtest in the agent's own.
      """)

  @OptionGroup var client: SpeedTestClientOptions
  @OptionGroup var control: SpeedTestControlOptions
  @OptionGroup var loop: LoopOptions
  @Flag(help: "Store the loop and leave it to `edgeblue agent --loop`.") var later = false
  @OptionGroup var state: SpeedTestFolderOptions
  @OptionGroup var common: CommonOptions

  func validate() throws { try control.check(client) }

  func run() async throws {
    try await common.run { terminal in
      let folder = try state.folder()
      try folder.create()
      guard let lock = try FileLock(path: folder.loopLockPath, attempts: 20) else {
        throw SpeedTestError(.busy, "the loop is running already")
      }
      defer { lock.release() }
      lock.clear()
      try control.checkEncryption(client, terminal)
      let contents = try await contents(in: folder)
      if later {
        try contents.settings.test.check(folder)
        return terminal.happened(
          "stored a loop of \(contents.state.plan.words); `edgeblue agent --loop` runs it", "stored",
          ["loop": .string(contents.state.id.uuidString)])
      }
      let lifecycle = try await LifecycleMonitor.start()
      defer { lifecycle.close() }
      try checkSomebodyCanBeThere(contents.state.plan, lifecycle)
      let session = try LoopSession(contents, in: folder, lock: lock, terminal: terminal)
      do {
        let ending = try await untilInterrupted { try await session.run(following: lifecycle.updates()) }
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
  private func contents(in folder: SpeedTestFolder) async throws -> LoopStore<LoopSettings>.Contents {
    let stored = try folder.loop.load()
    let wanted = control.settings(client).map { LoopSettings(test: $0, location: loop.location) }
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
      throw Failure(
        "there is no loop to continue", hint: "--server or --control starts a new one", status: .unavailable)
    }
    try await acceptTerms(of: wanted.test.controlServer(folder))
    if let stored { try folder.moveAside(stored.state) }
    let new = LoopState(id: UUID(), plan: try loop.plan(), at: LoopInstant.system())
    let contents = LoopStore<LoopSettings>.Contents(state: new, settings: wanted)
    try folder.loop.save(contents)
    return contents
  }

  /// Gets the identifier of this client from the control server. Nobody is there to accept its terms later on.
  private func acceptTerms(of server: ControlServer?) async throws {
    guard let server else { return }
    _ = try await untilInterrupted { [control] in
      try await server.client.settings(acceptsTerms: control.acceptTerms)
    }
  }

  private func checkSomebodyCanBeThere(_ plan: LoopPlan, _ lifecycle: LifecycleMonitor) throws {
    guard !plan.isUnattended, lifecycle.snapshot.reason == .headless else { return }
    throw Failure(
      "no login session shows whether somebody is at this machine", hint: "--unattended runs tests without anybody",
      status: .unavailable)
  }
}
