import Agent
import Coverage
import Foundation
import Streams
import Timing

/// The coverage measurement of the agent: one run after the other, and the sending of what is finished.
///
/// Failures are reported, and do not stop the agent.
final class AgentCoverage: Sendable {
  /// The times of the measurement.
  struct Times: Sendable {
    /// The delay after which a measurement begins anew that could not be run, for example after a disk error.
    var pause = Duration.seconds(30)
    /// The interval at which a store is looked at again with which another program measures.
    var busy = Duration.seconds(5)
    /// The interval at which what waits to be sent is looked at, beside the changes that lead to it.
    var sending = Duration.seconds(60)
    /// The shortest interval between two reports of the status.
    var report = Duration.seconds(1)
    /// The time in which the control server can still take what is finished when the agent ends.
    var end = Duration.seconds(4)
  }

  private struct State {
    var status = CoverageMeasurementStatus(state: CoverageObstacle.noLocation.rawValue)
    /// The figures of the runs before the present one.
    var before = Figures()
    var problems = Problems()

    init() {
      status.pings = before.pings
      status.sendings = ["delivered": 0, "failed": 0, "refused": 0, "outdated": 0]
    }

    mutating func take(_ run: CoverageStatus) {
      status.technology = run.technology.rawValue
      status.session = run.session
      status.fences = before.fences + run.fences
      let pings = ["answered": run.pings.answered, "lost": run.pings.lost, "stalled": run.pings.stalled]
      status.pings = before.pings.merging(pings, uniquingKeysWith: +)
      problems.run = run.problem
    }

    mutating func take(_ summary: CoverageSender.Summary) {
      status.sendings["outdated", default: 0] += summary.outdated
      for report in summary.reports {
        let (name, reason): (String, String?) =
          switch report.outcome {
          case .delivered: ("delivered", nil)
          case .waiting(let reason): ("failed", reason)
          case .refused(let reason): ("refused", reason)
          }
        status.sendings[name, default: 0] += 1
        problems.sending = reason
      }
    }
  }

  /// The figures of runs.
  private struct Figures {
    var fences = 0
    var pings: [String: Int] = ["answered": 0, "lost": 0, "stalled": 0]
  }

  /// The problems that are not over, the most important first.
  private struct Problems {
    var failure: String?
    var source: String?
    var run: String?
    var sending: String?

    var first: String? { failure ?? source ?? run ?? sending }
  }

  private let open: @Sendable () throws -> CoverageParts
  private let times: Times
  private let clock: TimeSource
  private let terminal: Terminal
  private let view: CoverageView
  private let state = Lock(State())
  private let changes = WakeSignal()

  /// Creates a measurement.
  /// - Parameter open: A closure that opens the parts of it, at the start and after each failure.
  init(
    _ terminal: Terminal, times: Times = Times(), clock: TimeSource = .continuous,
    open: @escaping @Sendable () throws -> CoverageParts
  ) {
    self.open = open
    self.times = times
    self.clock = clock
    self.terminal = terminal
    view = CoverageView(terminal: terminal, interval: nil, isPart: true)
  }

  /// The newest status.
  var status: CoverageMeasurementStatus { state.withLock { $0.status } }

  /// Measures until the task is cancelled; then ends the run, and sends what is finished if that takes no longer than 4 s.
  /// - Parameter report: A closure that gets the status after a change, at most once a second.
  func run(reportingTo report: @escaping @Sendable (CoverageMeasurementStatus) async -> Void) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [self] in
        changes.signal()
        for await _ in changes.signals {
          await report(status)
          do { try await clock.sleep(for: times.report) } catch { return }
        }
      }
      group.addTask { [self] in await measure() }
      await group.waitForAll()
    }
  }

  private func measure() async {
    while !Task.isCancelled {
      do {
        let parts = try open()
        defer { parts.sources.close() }
        change { $0.problems.failure = nil }
        try await carry(parts)
      } catch {
        guard !Task.isCancelled else { return }
        fail(Failure(error).message)
      }
      do { try await clock.sleep(for: times.pause) } catch { return }
    }
  }

  private func fail(_ message: String) {
    let isNew = state.withLock { $0.problems.failure != message }
    change { state in
      state.status.state = "failed"
      state.status.session = nil
      state.problems = Problems(failure: message)
    }
    guard isNew else { return }
    terminal.happened("coverage: \(message)", "coverage-problem", ["reason": .string(message)], paint: .red)
  }

  /// Measures and sends with the parts of one opening, until the task is cancelled or one of both fails.
  private func carry(_ parts: CoverageParts) async throws {
    var quiet = parts
    // What is finished is sent here, where it is counted.
    quiet.options.sendsFinished = false
    let walked = quiet
    let (looks, source) = BoundedStream.make(of: Void.self, limit: 1)
    var failure: (any Error)?
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { [self] in try await walk(walked) { source.yield(()) } }
        group.addTask { [self] in await send(parts, looks, source) }
        defer { group.cancelAll() }
        try await group.next()
      }
    } catch {
      failure = error
    }
    if Task.isCancelled { await sendLast(parts) }
    if let failure { throw failure }
  }

  // MARK: Measuring

  /// Runs one walk after the other until the task is cancelled.
  private func walk(_ parts: CoverageParts, onFinished look: @escaping @Sendable () -> Void) async throws {
    while !Task.isCancelled {
      do {
        // A look first: an attempt at the lock blocks, and keeps the other program from it.
        guard try !parts.store.isBeingMeasured else {
          throw CoverageError(.busy, "another program measures with \(parts.store.path)")
        }
        change { $0.problems.run = nil }
        try parts.sender.finishAbandoned()
        look()
        let ending = try await CoverageWalk(parts, endsWithTrack: true) { [self] in take($0, look) }.run()
        endRun()
        look()
        guard !Task.isCancelled else { return }
        view.ended(ending)
        if ending == nil { return try await stayEnded() }
      } catch let error as CoverageError where error.code == .busy {
        stayBusy(error.message)
        try await clock.sleep(for: times.busy)
      }
    }
  }

  private func stayBusy(_ message: String) {
    let isNew = status.state != "busy"
    endRun()
    change { state in
      state.status.state = "busy"
      state.problems.run = message
    }
    guard isNew else { return }
    terminal.happened("coverage: waiting: \(message)", "coverage-busy", ["reason": .string(message)])
  }

  /// Waits, after the end of a track, for the end of the agent.
  private func stayEnded() async throws {
    change { $0.status.state = "ended" }
    while true { try await clock.sleep(for: .seconds(86_400)) }
  }

  private func take(_ news: CoverageNews, _ look: @Sendable () -> Void) {
    view.show(news)
    switch news {
    case .waits, .modem: break
    case .started: change { $0.problems.run = nil }
    case .obstacle(let obstacle): change { $0.status.state = obstacle?.rawValue ?? "measuring" }
    case .source(let problem): change { $0.problems.source = problem }
    case .status(let status):
      if status.session != self.status.session { look() }
      change { $0.take(status) }
    }
  }

  private func endRun() {
    change { state in
      state.before = Figures(fences: state.status.fences, pings: state.status.pings)
      state.status.session = nil
      state.problems.run = nil
      state.problems.source = nil
    }
  }

  private func change(_ body: (inout State) -> Void) {
    let isChanged = state.withLock { state in
      let old = state.status
      body(&state)
      state.status.problem = state.problems.first
      return state.status != old
    }
    if isChanged { changes.signal() }
  }

  // MARK: Sending

  /// Sends what is finished after each look, and at intervals, until the task is cancelled.
  private func send(
    _ parts: CoverageParts, _ looks: BoundedStream<Void>, _ source: BoundedStream<Void>.Source
  ) async {
    var next = looks.makeAsyncIterator()
    while !Task.isCancelled {
      await sendNow(parts)
      let timer = Task { [clock, times] in
        // Cancelled by a look.
        guard (try? await clock.sleep(for: times.sending)) != nil else { return }
        source.yield(())
      }
      await next.next()
      timer.cancel()
    }
  }

  private func sendNow(_ parts: CoverageParts) async {
    do {
      let summary = try await parts.sender.sendFinished()
      CoverageSendCommand.show(summary, terminal, prefix: "coverage: ", event: "coverage-")
      change { $0.take(summary) }
    } catch is CancellationError {
      return
    } catch let error as CoverageError where error.code == .busy {
      // Another program sends them.
    } catch {
      change { $0.problems.sending = Failure(error).message }
    }
    count(parts)
  }

  private func count(_ parts: CoverageParts) {
    do throws(CoverageError) {
      let waiting = try parts.store.waiting()
      change { state in
        state.status.waiting = waiting
        if waiting == 0 { state.problems.sending = nil }
      }
    } catch {
      change { $0.problems.sending = error.message }
    }
  }

  /// Sends what is finished when the agent ends: what the server does not take in time stays for the next start.
  private func sendLast(_ parts: CoverageParts) async {
    // A task of its own, because a cancelled one could not send.
    let last = Task { await sendNow(parts) }
    let limit = Task { [clock, times] in
      // Cancelled when all is sent.
      guard (try? await clock.sleep(for: times.end)) != nil else { return }
      last.cancel()
    }
    await last.value
    limit.cancel()
  }
}

extension CoverageMeasurementStatus {
  /// The metrics of the measurement.
  var metrics: [Metric] {
    let names = ["measuring"] + CoverageObstacle.allCases.map(\.rawValue) + ["busy", "ended", "failed"]
    let kinds = ["failed", "refused", "outdated"]
    return [
      Metric(
        "edgeblue_coverage_state", "state", of: names, now: state, "The state of the coverage measurement."),
      Metric("edgeblue_coverage_fences_total", .counter, "Fences that were entered.", fences),
      Metric(
        "edgeblue_coverage_pings_total", .counter, "Pings by result; stalled ones were left out.",
        pings.sorted { $0.key < $1.key }.map { .init(Double($0.value), ["result": $0.key]) }),
      Metric(
        "edgeblue_coverage_sessions_waiting", .gauge, "Finished sessions that the control server does not have.",
        waiting),
      Metric(
        "edgeblue_coverage_deliveries_total", .counter, "Sessions that the control server has taken.",
        sendings["delivered"]),
      Metric(
        "edgeblue_coverage_failures_total", .counter,
        "Attempts to send that failed or were refused, and sessions that were removed unsent for their age.",
        kinds.compactMap { kind in sendings[kind].map { .init(Double($0), ["kind": kind]) } }),
    ]
  }
}
