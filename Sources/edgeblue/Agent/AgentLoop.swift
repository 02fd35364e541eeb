import Agent
import DurableFiles
import Foundation
import SpeedTest
import Streams
import Timing

/// The loop of speed tests of the agent: it runs the one in its folder whenever there is one that is not over.
///
/// `edgeblue loop start --later` stores such a loop. It follows the agent's own phase, so that the choice of
/// `edgeblue lifecycle` says whether somebody is at the machine.
struct AgentLoop: Sendable {
  private let folder: SpeedTestFolder
  private let terminal: Terminal
  private let shown = Lock<LoopState?>(nil)
  /// Whether a test runs at present.
  let tests = UpdateFeed(false)

  /// The delay after which a loop is looked at again that could not be run, for example after a disk error.
  private static let pause = Duration.seconds(30)

  /// Creates the loop of an agent with this state folder.
  init(in state: String, _ terminal: Terminal) throws {
    folder = SpeedTestFolder(path: state + "/speedtest")
    self.terminal = terminal
    try folder.create()
  }

  /// Runs loops until the task is cancelled. Failures are reported, and do not stop the agent.
  func run(_ lifecycle: AgentLifecycle, reportingTo runner: ModeRunner) async {
    while !Task.isCancelled {
      do {
        try await follow(lifecycle, runner)
      } catch {
        guard !Task.isCancelled else { return }
        await report(runner, problem: Failure(error).message)
      }
      do { try await Task.sleep(for: Self.pause, clock: .steady) } catch { return }
    }
  }

  /// Runs the loop of the folder, and every one that comes there, until the folder has gone.
  private func follow(_ lifecycle: AgentLifecycle, _ runner: ModeRunner) async throws {
    let watch = try folder.watchLoop()
    let (looks, source) = BoundedStream.make(of: Void.self, limit: 1)
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        for await _ in watch.changes { source.yield(()) }
        source.finish()
      }
      defer { group.cancelAll() }
      var next = looks.makeAsyncIterator()
      var isThere = true
      while isThere {
        let problem = await problem(of: { try await carry(lifecycle, runner) })
        guard !Task.isCancelled else { return }
        await report(runner, problem: problem)
        // Not every cure is a change of the folder.
        let retry = problem.map { _ in Task { await Self.look(again: source) } }
        isThere = await next.next() != nil
        retry?.cancel()
      }
    }
  }

  private func problem(of work: () async throws -> Void) async -> String? {
    do {
      try await work()
      return nil
    } catch {
      return Failure(error).message
    }
  }

  private static func look(again source: BoundedStream<Void>.Source) async {
    // Cancelled by a change.
    guard (try? await Task.sleep(for: pause, clock: .steady)) != nil else { return }
    source.yield(())
  }

  private func report(_ runner: ModeRunner, problem: String?) async {
    var status = SpeedTestLoopStatus(shown.withLock { $0 })
    status.problem = problem
    await runner.take(status)
  }

  /// Runs the loop that is not over, if there is one.
  private func carry(_ lifecycle: AgentLifecycle, _ runner: ModeRunner) async throws {
    let stored = try folder.loop.load()
    shown.withLock { $0 = stored?.state }
    guard let stored, stored.state.ending == nil else { return }
    // A look first: an attempt at the lock is a change of its own, which would be followed by the next attempt.
    guard try !FileLock.isHeld(path: folder.loopLockPath), let lock = try FileLock(path: folder.loopLockPath) else {
      throw SpeedTestError(.busy, "another program runs the loop")
    }
    defer { lock.release() }
    lock.clear()
    // Between the look and the lock another program may have run it.
    guard let contents = try folder.loop.load(), contents.state.ending == nil else { return }
    let (changes, source) = BoundedStream.make(of: LoopUpdate.self, limit: 1, policy: .dropOldest)
    defer {
      source.finish()
      tests.publish(false)
    }
    let session = try LoopSession(contents, in: folder, lock: lock, terminal: terminal, isAgent: true) { update in
      source.yield(update)
      if update.state.isTesting != tests.newest { tests.publish(update.state.isTesting) }
    }
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        _ = try await session.run(following: lifecycle.updates())
        return true
      }
      group.addTask {
        for await update in changes {
          shown.withLock { $0 = update.state }
          await report(runner, problem: update.problem)
        }
        return false
      }
      group.addTask {
        try await stopWhenRequested(session, contents.state.id)
        return false
      }
      defer { group.cancelAll() }
      while let isOver = try await group.next(), !isOver {}
    }
    shown.withLock { shown in
      // The last change may not have been read.
      if let ended = try? folder.loop.load()?.state { shown = ended }
    }
    try folder.removeStopRequest()
  }

  private func stopWhenRequested(_ session: LoopSession, _ loop: UUID) async throws {
    let watch = try folder.watchStopRequest()
    defer { watch.close() }
    var changes = watch.changes.makeAsyncIterator()
    repeat {
      if try folder.isStopRequested(of: loop) { await session.runner.handle(.stop) }
    } while await changes.next() != nil
  }

  /// The metrics of the loop.
  var metrics: [Metric] { shown.withLock { $0 }.metrics }
}

extension SpeedTestLoopStatus {
  /// The status of a loop in its state; `nil` stands for none.
  init(_ state: LoopState?) {
    guard let state else {
      self.init()
      return
    }
    let now = LoopInstant.system()
    var due: Int64?
    if case .waiting = state.phase { due = LoopMachine(state).wait(at: now).map { now.wallMs + $0 } }
    self.init(
      state: state.phaseName, begun: state.counter, tests: state.plan.tests, outcomes: state.outcomes, dueAtMs: due)
  }
}

extension LoopState {
  fileprivate var isTesting: Bool {
    switch phase {
    case .testing, .aborting: true
    default: false
    }
  }

  /// The number of attempts by their outcome.
  fileprivate var outcomes: [String: Int] {
    Dictionary(history.compactMap { $0.outcome.map { ($0.status.rawValue, 1) } }, uniquingKeysWith: +)
  }
}

extension LoopState? {
  /// The metrics of the loop, of which those of the tests are left out without any.
  fileprivate var metrics: [Metric] {
    let names = ["none", "waiting", "waitingToRepeat", "ready", "testing", "aborting", "completed", "stopped"]
    let last = self?.history.last { $0.outcome?.status == .completed }?.outcome
    let rates = [("download", last?.download), ("upload", last?.upload)].compactMap { name, rate in
      rate.map { Metric.Sample($0, ["direction": name]) }
    }
    return [
      Metric(
        "edgeblue_loop_state", "state", of: names, now: self?.phaseName ?? "none",
        "The state of the loop of speed tests."),
      Metric("edgeblue_loop_tests", .gauge, "Tests of the whole loop.", self?.plan.tests),
      Metric("edgeblue_loop_tests_begun", .gauge, "Tests of the loop that have begun.", self?.counter),
      Metric(
        "edgeblue_loop_attempts", .gauge, "Attempts of the loop by outcome.",
        (self?.outcomes ?? [:]).sorted { $0.key < $1.key }.map { .init(Double($0.value), ["outcome": $0.key]) }),
      Metric("edgeblue_loop_last_rate_bits_per_second", .gauge, "The rates of the last completed test.", rates),
      Metric(
        "edgeblue_loop_last_ping_seconds", .gauge, "The round-trip time of the last completed test.",
        (last?.pingMs).map { $0 / 1000 }),
    ]
  }
}
