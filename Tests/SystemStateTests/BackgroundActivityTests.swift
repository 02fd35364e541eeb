import DBus
import DBusTesting
import Logging
import Streams
import SystemTesting
import Testing
import Timing

@testable import SystemState

@Suite(
  "Background activities at a fake logind",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"), .timeLimit(.minutes(5)))
struct BackgroundActivityTests {
  private let warnings = Lock(0)

  private func options(_ bus: PrivateBus?) -> BackgroundActivity.Options {
    var options = BackgroundActivity.Options()
    options.logger = Logger(label: "test") { _ in WarningCounter(warnings: warnings) }
    options.bus = bus.map { .address($0.address) }
    options.interval = .seconds(3600)
    return options
  }

  @Test("The inhibitor is held from the first use to the last") func heldWhileSomebodyNeedsItAndNoLonger() async throws
  {
    let bus = try PrivateBus()
    let logind = try await FakeLogind(bus)
    let activity = BackgroundActivity(options(bus))
    let seen = Watcher(activity.states(limit: 1000))
    for round in 1...3 {
      let first = activity.begin()
      var second: BackgroundActivity.Use? = activity.begin()
      try await seen.until("held") { $0 == .held }
      #expect(logind.inhibitors.count == round)
      #expect(logind.held == 1)
      first.end()
      first.end()
      #expect(activity.state == .held)
      #expect(logind.held == 1)
      withExtendedLifetime(second) {}
      // The last reference goes.
      second = nil
      #expect(activity.state == .released)
      try await logind.until(held: 0)
    }
    #expect(logind.inhibitors.allSatisfy { $0.words == ["sleep", "EdgeBlue", "work is under way", "delay"] })
    logind.end()
  }

  @Test("A restarted logind is asked for the inhibitor again") func takenAgainAfterLogindWasRestarted() async throws {
    let bus = try PrivateBus()
    let activity = BackgroundActivity(options(bus))
    let seen = Watcher(activity.states(limit: 1000))
    let use = activity.begin()
    #expect(activity.state == .waiting)
    let first = try await FakeLogind(bus)
    try await seen.until("the first logind") { $0 == .held }
    first.end()
    try await seen.until("no logind") { $0 == .waiting }
    // A real one finds it again when it is started: nothing slips between.
    #expect(first.held == 1)
    let second = try await FakeLogind(bus)
    try await seen.until("the second logind") { $0 == .held }
    try await first.until(held: 0)
    #expect(second.held == 1)

    activity.close()
    #expect(activity.state == .released)
    try await second.until(held: 0)
    use.end()
    #expect(activity.begin() !== use)
    #expect(activity.state == .released)
    #expect(second.inhibitors.count == 1)
    second.end()
  }

  /// As while the machine goes to sleep.
  @Test("A refusal is logged once and asked again") func refusedAndAskedAgain() async throws {
    let bus = try PrivateBus()
    let logind = try await FakeLogind(bus)
    logind.refuse("org.freedesktop.login1.OperationInProgress")
    let activity = BackgroundActivity(options(bus))
    let seen = Watcher(activity.states(limit: 1000))
    let use = activity.begin()
    try await seen.until("refused") { $0 == .refused("refused") }
    // Refused for the same reason again, which is said once.
    for _ in 1...3 {
      activity.begin().end()
      await logind.waitUntilAsked()
    }
    logind.refuse(nil)
    try logind.prepareForSleep(false)
    try await seen.until("held") { $0 == .held }
    #expect(warnings.withLock { $0 } == 1)

    bus.kill()
    try await seen.until("no bus") { $0 == .waiting }
    // The descriptor does not need the bus.
    #expect(logind.held == 1)
    use.end()
    try await logind.until(held: 0)
    logind.end()
  }

  /// It was needed when it was asked for, and is not when it comes.
  @Test("An inhibitor that is granted too late is released") func grantedTooLate() async throws {
    let bus = try PrivateBus()
    let logind = try await FakeLogind(bus)
    let activity = BackgroundActivity(options(bus))
    logind.answerLater()
    let use = activity.begin()
    await logind.waitUntilAsked()
    use.end()
    logind.answer()
    while logind.inhibitors.isEmpty { try await Task.sleep(for: .milliseconds(1), clock: .steady) }
    try await logind.until(held: 0)
    #expect(activity.state == .released)
    #expect(logind.inhibitors.count == 1)
    logind.end()
  }

  @Test("Without a bus an activity only waits") func withoutABus() async throws {
    var options = options(nil)
    for address in [nil, Connection.Bus.address("unix:path=/nonexistent/bus")] {
      options.bus = address
      let activity = BackgroundActivity(options)
      let use = activity.begin()
      #expect(activity.state == .waiting)
      use.end()
      #expect(activity.state == .released)
    }
  }
}

/// Counts the warnings.
private struct WarningCounter: LogHandler {
  let warnings: Lock<Int>
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.warning

  init(warnings: Lock<Int>) { self.warnings = warnings }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { warnings.withLock { $0 += 1 } }
}
