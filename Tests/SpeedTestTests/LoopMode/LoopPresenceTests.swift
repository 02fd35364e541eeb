import Foundation
import Testing

@testable import SpeedTest

@Suite("A loop and the user at the machine") struct LoopPresenceTests {
  @Test("Nothing begins, and nobody is notified, before the presence is known") func unknownPresence() throws {
    var loop = try LoopDriver()
    #expect(loop.take(.launch(stored: nil)) == [.save])
    #expect(loop.pass(1000).isEmpty)
    #expect(loop.take(.presence(.present)).begun != nil)
  }

  @Test("A test that loses its user is aborted, counts, and the loop waits") func backgrounded() throws {
    var loop = try LoopDriver()
    _ = loop.start()
    _ = loop.pass(5)
    #expect(loop.take(.presence(.away)) == [.save, .abort])
    // Nothing else runs before the test has ended.
    #expect(loop.take(.presence(.present)).isEmpty)
    #expect(loop.pass(2) == [])
    #expect(loop.take(.tested(LoopOutcome(.failed, reason: "cancelled"))) == [.save, .hold])
    #expect(loop.state.history[0].outcome?.status == .backgrounded)
    #expect(loop.state.counter == 1)
    #expect(loop.pass(592.9).begun == nil)
    let next = try #require(loop.pass(0.1).begun)
    #expect(next.number == 2)
    #expect(next.attempt == 1)
  }

  @Test("A test that was quicker than its abort is complete") func quickerThanTheAbort() throws {
    var loop = try LoopDriver()
    _ = loop.start()
    _ = loop.take(.presence(.suspending))
    _ = loop.take(.tested(LoopOutcome(.completed)))
    #expect(loop.state.history[0].outcome?.status == .completed)
  }

  @Test("An unattended loop stops for nothing but sleep") func unattended() throws {
    var loop = try LoopDriver(isUnattended: true)
    #expect(loop.take(.launch(stored: nil)).begun != nil)
    #expect(loop.take(.presence(.away)).isEmpty)
    #expect(loop.take(.presence(.suspending)).contains(.abort))
    _ = loop.take(.tested(LoopOutcome(.failed)))
    #expect(loop.pass(900).begun == nil)
    #expect(loop.take(.presence(.away)).begun?.number == 2)
  }

  @Test("A due test notifies once, and begins when somebody comes") func notification() throws {
    var loop = try LoopDriver()
    _ = loop.take(.launch(stored: nil))
    let actions = loop.take(.presence(.away))
    #expect(actions.first == .save)
    #expect(actions.notice == LoopNotice(number: 1, tests: 3, trigger: .first))
    #expect(loop.take(.presence(.away)).isEmpty)
    #expect(loop.pass(599).isEmpty)
    #expect(loop.take(.presence(.present)).begun?.number == 1)
  }

  @Test("Reminders come at twice the pause for each one without an answer") func reminders() throws {
    var loop = try LoopDriver(delay: .seconds(600))
    _ = loop.take(.launch(stored: nil))
    #expect(loop.take(.presence(.away)).notice != nil)
    for pause in [600.0, 1200, 2400, 4800, 9600, 19_200, 38_400, 38_400] {
      #expect(loop.machine.wait(at: loop.now) == Int64(pause * 1000))
      #expect(loop.pass(pause - 0.1).notice == nil)
      #expect(loop.pass(0.1).notice != nil)
    }
    _ = loop.take(.presence(.present))
    _ = loop.take(.tested(LoopOutcome(.completed)))
    _ = loop.take(.presence(.away))
    #expect(loop.pass(600).notice?.number == 2)
    // Somebody came to the last one, so that the pause is short again.
    #expect(loop.machine.wait(at: loop.now) == 600_000)
  }

  @Test("A notification is not shown again within the wait, also for another test or by another program")
  func notAgainWithinTheWait() throws {
    var loop = try LoopDriver()
    _ = loop.take(.launch(stored: nil))
    #expect(loop.take(.presence(.away)).notice != nil)
    _ = loop.pass(300)
    _ = try loop.restart()
    #expect(loop.take(.presence(.away)).notice == nil)
    _ = loop.take(.presence(.present))
    _ = loop.take(.location(try LoopDriver.fix(0)))
    _ = loop.take(.tested(LoopOutcome(.completed)))
    _ = loop.take(.presence(.away))
    #expect(loop.take(.location(try LoopDriver.fix(500))).notice == nil)
    #expect(loop.pass(299.9).notice == nil)
    #expect(loop.pass(0.1).notice?.trigger == .distance)
  }

  @Test("No notification is shown in the night hours") func nightHours() throws {
    let night = try LoopNightHours(from: 22 * 60, to: 7 * 60)
    var evening = LoopDriver.noon
    evening.utcOffset = 3600
    evening.wallMs += 9 * 3_600_000 + 1_800_000
    var loop = try LoopDriver(nightHours: night, at: evening)
    _ = loop.take(.launch(stored: nil))
    #expect(loop.take(.presence(.away)).notice == nil)
    // It looks every hour, because somebody may set the clock.
    #expect(loop.machine.wait(at: loop.now) == 3_600_000)
    #expect(loop.pass(8.5 * 3600 - 1).notice == nil)
    #expect(loop.machine.wait(at: loop.now) == 1000)
    #expect(loop.pass(1).notice != nil)
  }

  @Test("Hours of the night may include midnight, or not") func hours() throws {
    let night = try LoopNightHours(from: 1320, to: 420)
    #expect(night.contains(minute: 1320))
    #expect(night.contains(minute: 0))
    #expect(!night.contains(minute: 420))
    #expect(!night.contains(minute: 720))
    let nap = try LoopNightHours(from: 720, to: 780)
    #expect(nap.contains(minute: 779))
    #expect(!nap.contains(minute: 780))
    #expect(throws: SpeedTestError.self) { try LoopNightHours(from: 10, to: 10) }
    #expect(throws: SpeedTestError.self) { try LoopNightHours(from: -1, to: 10) }
  }
}
