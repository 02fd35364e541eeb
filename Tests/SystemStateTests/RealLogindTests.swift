import DBusTesting
import Testing

@testable import SystemState

@Suite(
  "The real systemd-logind of this host", .enabled(if: RealLogind.isPermitted, "needs root and systemd-logind"),
  .timeLimit(.minutes(5)))
struct RealLogindTests {
  @Test("Sleep waits for the work that is under way") func sleepWaitsForWhatIsUnderWay() async throws {
    let logind = try await RealLogind()
    var lifecycle = LifecycleMonitor.Options()
    lifecycle.bus = .address(logind.bus.address)
    let monitor = try await LifecycleMonitor.start(lifecycle)
    // A test is in no session.
    #expect(monitor.snapshot.phase == .foreground)
    #expect(monitor.snapshot.reason == .headless)
    let phases = Watcher(monitor.updates(limit: 100))

    var options = BackgroundActivity.Options()
    options.bus = .address(logind.bus.address)
    options.logger.logLevel = .error
    let activity = BackgroundActivity(options)
    let states = Watcher(activity.states(limit: 100))
    let use = activity.begin()
    try await states.until("held") { $0 == .held }
    #expect(try await logind.inhibitors() == ["sleep EdgeBlue work is under way delay"])

    let unit = Task { await logind.nextUnit() }
    try await logind.suspend()
    try await phases.until("about to sleep") { $0.snapshot.phase == .suspending }
    // What begins only now is refused, and so is no reason to wait any longer.
    let late = BackgroundActivity(options)
    let lateStates = Watcher(late.states(limit: 100))
    let lateUse = late.begin()
    try await lateStates.until("refused") { if case .refused = $0 { true } else { false } }
    #expect(try await logind.inhibitors().count == 1)
    use.end()
    #expect(await unit.value == "suspend.target")
    #expect(monitor.snapshot.phase == .suspending)
    try logind.wake()
    try await phases.until("awake") { $0.snapshot.phase == .foreground }
    try await lateStates.until("held after all") { $0 == .held }

    try await restart(logind, lateStates)
    lateUse.end()
    try await logind.until([])
  }

  /// Kills logind, starts it again, and waits until it has granted the inhibitor again.
  private func restart(_ logind: RealLogind, _ states: Watcher<BackgroundActivity.State>) async throws {
    logind.kill()
    try await states.until("no logind") { $0 == .waiting }
    try await logind.start()
    try await states.until("held again") { $0 == .held }
    #expect(try await logind.inhibitors().count == 1)
  }
}
