import DBus
import DBusTesting
import SystemTesting
import Testing

@testable import SystemState

@Suite(
  "The lifecycle monitor at a fake logind",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"))
struct LifecycleMonitorTests {
  private func options(_ bus: PrivateBus?) -> LifecycleMonitor.Options {
    var options = LifecycleMonitor.Options()
    options.bus = bus.map { .address($0.address) }
    options.interval = .seconds(3600)
    return options
  }

  private func snapshot(
    _ phase: AppLifecycle, _ reason: LifecycleReason, _ choice: LifecycleChoice = .auto
  ) -> LifecycleSnapshot { LifecycleSnapshot(phase: phase, reason: reason, choice: choice) }

  @Test("The start, changes and stop of logind are followed") func logindComesChangesAndGoes() async throws {
    let bus = try PrivateBus()
    let monitor = try await LifecycleMonitor.start(options(bus))
    #expect(monitor.snapshot == snapshot(.foreground, .headless))
    let seen = Watcher(monitor.updates(limit: 1000))

    let logind = try await FakeLogind(bus, session: FakeLogind.properties())
    try await seen.until("the session") { $0.snapshot.reason == .active }
    try logind.set(FakeLogind.properties(locked: true))
    try await seen.until("locked") { $0.snapshot.phase == .background && $0.snapshot.reason == .locked }
    try logind.prepareForSleep(true)
    try await seen.until("about to sleep") { $0.snapshot.phase == .suspending }
    monitor.choose(.foreground)
    #expect(monitor.snapshot == snapshot(.suspending, .sleep, .foreground))
    try logind.prepareForSleep(false)
    try await seen.until("awake") { $0.snapshot == snapshot(.foreground, .user, .foreground) }
    monitor.choose(.auto)
    #expect(monitor.snapshot == snapshot(.background, .locked))
    try logind.endSession()
    try await seen.until("no session") { $0.snapshot.reason == .headless }

    // One that goes while it prepares will never say that the sleep is over.
    try logind.prepareForSleep(true)
    try await seen.until("about to sleep again") { $0.snapshot.phase == .suspending }
    logind.end()
    try await seen.until("no logind") { $0.snapshot == snapshot(.foreground, .headless) }
    // And one that is found in the middle of it has said so before.
    let second = try await FakeLogind(bus, session: FakeLogind.properties(active: false), isPreparing: true)
    try await seen.until("another logind") { $0.snapshot.phase == .suspending }
    try second.prepareForSleep(false)
    try await seen.until("awake again") { $0.snapshot == snapshot(.background, .inactive) }
    second.end()
    try await seen.until("no logind again") { $0.snapshot.reason == .headless }
    monitor.close()
    #expect(try await seen.next() == nil)
    let numbers = seen.seen.map(\.number)
    #expect(numbers == numbers.sorted())
    #expect(Set(numbers).count == numbers.count)
  }

  @Test("Without a bus only the user's choice counts") func aBusThatGoesAndOneThatNeverWas() async throws {
    let bus = try PrivateBus()
    let logind = try await FakeLogind(bus, session: FakeLogind.properties(idle: true))
    var options = options(bus)
    let monitor = try await LifecycleMonitor.start(options)
    #expect(monitor.snapshot == snapshot(.background, .idle))
    let seen = Watcher(monitor.updates(limit: 1000))
    bus.kill()
    try await seen.until("no bus") { $0.snapshot == snapshot(.foreground, .headless) }
    logind.end()

    options.choice = .background
    for address in [Connection.Bus.address("unix:path=/nonexistent/bus"), nil] {
      options.bus = address
      let alone = try await LifecycleMonitor.start(options)
      #expect(alone.snapshot == snapshot(.background, .user, .background))
      alone.choose(.auto)
      #expect(alone.snapshot == snapshot(.foreground, .headless))
    }
  }

  /// Of a terminal that nobody types at, logind tells only who asks.
  @Test("An idle terminal is found at the interval") func whatIsNotAnnouncedIsFoundByAsking() async throws {
    let bus = try PrivateBus()
    let logind = try await FakeLogind(bus, session: FakeLogind.properties())
    var options = options(bus)
    options.interval = .milliseconds(100)
    let monitor = try await LifecycleMonitor.start(options)
    let seen = Watcher(monitor.updates(limit: 1000))
    logind.setQuietly(FakeLogind.properties(idle: true))
    try await seen.until("idle") { $0.snapshot.reason == .idle }
    logind.end()
  }

  /// A service has none, and a new one is announced.
  @Test("A logind without a session is not asked again at the interval") func noSessionIsAskedForOnce() async throws {
    let bus = try PrivateBus()
    let logind = try await FakeLogind(bus)
    var options = options(bus)
    options.interval = .milliseconds(10)
    let monitor = try await LifecycleMonitor.start(options)
    #expect(monitor.snapshot.reason == .headless)
    let questions = logind.questions
    try await Task.sleep(for: .milliseconds(300))
    // One more for what was announced while the monitor started.
    #expect(logind.questions <= questions + 1)
    let seen = Watcher(monitor.updates(limit: 1000))
    try logind.endSession()
    try await eventually("it asks after an announcement") { logind.questions > questions }
    logind.end()
    monitor.close()
    while try await seen.next() != nil {}
  }

  @Test("Malformed properties of a session count as unknown") func whatLogindDoesNotKnow() {
    #expect(LoginSession([:]) == nil)
    #expect(LoginSession(["Active": "yes"]) == nil)
    #expect(LoginSession(["Active": true, "LockedHint": "no"]) == LoginSession(isActive: true))
  }
}
