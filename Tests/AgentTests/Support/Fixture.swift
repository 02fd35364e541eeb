import DeterministicTesting
import NetworkPath
import Streams
import SystemState
import Timing

@testable import Agent

/// A runner with services that follow a test's orders, a disk that can be full, and a manual clock.
struct Fixture: Sendable {
  let floor: Floor
  let clock = ManualClock()
  let phone: FakeRunner
  let heartbeat: FakeRunner
  let runner: ModeRunner
  private let paths = BoundedStream.make(of: PathUpdate.self, limit: 16)
  private let powers = BoundedStream.make(of: PowerUpdate.self, limit: 16)

  static let wired = PathSnapshot(status: .satisfied)
  static let lost = PathSnapshot(status: .unsatisfied, unsatisfiedReason: .noCarrier)

  static func power(_ isExternal: Bool) -> PowerSnapshot {
    PowerSnapshot(
      telemetry: PowerTelemetry(onExternalPower: isExternal, batteryLevelPct: 50, lowPowerMode: false, updatedAtMs: 1),
      externalPower: isExternal ? .supply : .battery)
  }

  /// - Parameter hasDelays: Whether the loss of the network counts only after its delays.
  init(
    _ record: ModeRecord, log: EventLog = EventLog(path: nil), options: ModeRunner.Options = .init(),
    hasDelays: Bool = false
  ) {
    let floor = Floor(disk: record)
    phone = FakeRunner(.phone, floor)
    heartbeat = FakeRunner(.heartbeat, floor)
    var options = options
    options.time = TimeSource(clock)
    options.random = { 0 }
    if !hasDelays { options.networkDelays = .none }
    // Failures are what these tests are made of.
    options.logger.logLevel = .critical
    options.notify = { floor.note("notify \($0.rawValue)") }
    self.floor = floor
    runner = ModeRunner(
      restored: .init(value: record, problem: nil), log: log,
      services: .init(runners: [.phone: phone, .heartbeat: heartbeat]), options: options,
      save: { record throws(AgentError) in try floor.save(record) })
  }

  var status: AgentStatus { runner.status }

  func fake(_ service: ComputeService) -> FakeRunner { service == .phone ? phone : heartbeat }

  func say(_ path: PathSnapshot) { paths.source.yield(PathUpdate(number: 1, path: path)) }

  func say(_ power: PowerSnapshot) { powers.source.yield(PowerUpdate(number: 1, snapshot: power)) }

  /// Nothing will tell of the network any more.
  func endPaths() { paths.source.finish() }

  /// Runs the runner while the body runs, then ends it.
  /// - Returns: what the body returns.
  /// - Throws: what the body or the runner throws.
  func running<R: Sendable>(_ body: @escaping @Sendable (Fixture) async throws -> R) async throws -> R {
    try await withThrowingTaskGroup(of: R?.self) { group in
      let statuses = runner.statuses()
      group.addTask {
        for await _ in statuses { floor.wake() }
        floor.wake()
        return nil
      }
      group.addTask {
        try await runner.run(paths: paths.stream, powers: powers.stream)
        return nil
      }
      // That the mode is applied is the first event.
      await floor.until { runner.log.count > 0 }
      let result = try await body(self)
      group.cancelAll()
      while try await group.next() != nil {}
      return result
    }
  }

  /// Runs the runner until it ends by itself.
  func runToItsEnd() async throws { try await runner.run(paths: paths.stream, powers: powers.stream) }

  func until(_ condition: (AgentStatus) -> Bool) async { await floor.until { condition(runner.status) } }

  /// Waits until a service was started, and has it say that it works.
  func works(_ service: ComputeService) async {
    await floor.until { floor.active.contains(service) }
    fake(service).order(.work)
    await until { $0.runState == .running }
  }
}
