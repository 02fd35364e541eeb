import Foundation
import Testing

@testable import SpeedTest

@Suite("The state machine of a loop") struct LoopMachineTests {
  @Test("The first test is due at once, and the next ones after the delay from start to start") func theDelay() throws {
    var loop = try LoopDriver(tests: 2)
    let first = loop.start()
    #expect(first.begun?.trigger == .first)
    #expect(first.first == .save)
    #expect(loop.pass(20).isEmpty)
    #expect(loop.take(.tested(LoopOutcome(.completed))) == [.save, .hold])
    #expect(loop.machine.wait(at: loop.now) == 580_000)
    #expect(loop.pass(579.9).isEmpty)
    let second = loop.pass(0.1)
    #expect(second.prefix(2) == [.save, .release])
    #expect(second.begun?.number == 2)
    #expect(second.begun?.trigger == .time)
    #expect(loop.take(.tested(LoopOutcome(.completed))) == [.save, .finish(.completed)])
    #expect(loop.machine.wait(at: loop.now) == nil)
    #expect(loop.pass(10_000).isEmpty)
  }

  @Test("A wait that a test has eaten is over when the test is") func aLongTest() throws {
    var loop = try LoopDriver()
    _ = loop.start()
    #expect(loop.pass(700).isEmpty)
    #expect(loop.take(.tested(LoopOutcome(.completed))).begun?.number == 2)
  }

  @Test("The distance counts from the place where the previous test began") func theDistance() throws {
    var loop = try LoopDriver()
    _ = loop.take(.launch(stored: nil))
    _ = loop.take(.location(try LoopDriver.fix(0)))
    let first = try #require(loop.take(.presence(.present)).begun)
    #expect(first.place == (try LoopDriver.fix(0)).place)
    #expect(loop.take(.location(try LoopDriver.fix(150))).isEmpty)
    // The movement happened during the test, and counts at once.
    let second = try #require(loop.take(.tested(LoopOutcome(.completed))).begun)
    #expect(second.trigger == .distance)
    #expect(abs((second.moved ?? 0) - 150) < 0.5)
    _ = loop.take(.tested(LoopOutcome(.completed)))
    #expect(loop.take(.location(try LoopDriver.fix(249))).begun == nil)
    #expect(abs((loop.machine.moved(at: loop.now) ?? 0) - 99) < 0.5)
    #expect(loop.take(.location(try LoopDriver.fix(250.1))).begun?.number == 3)
  }

  @Test("Locations that are imprecise, without an error or stale do not count") func badLocations() throws {
    var loop = try LoopDriver()
    _ = loop.start()
    _ = loop.take(.location(try LoopDriver.fix(0)))
    _ = loop.take(.tested(LoopOutcome(.completed)))
    for bad in [
      try LoopDriver.fix(500, error: 51), try LoopDriver.fix(500, error: nil), try LoopDriver.fix(500, error: -1),
      try LoopDriver.fix(500, error: .nan), try LoopDriver.fix(500, age: .seconds(31)),
      try LoopDriver.fix(500, age: .seconds(-1)),
    ] {
      #expect(loop.take(.location(bad)).isEmpty)
    }
    #expect(loop.take(.location(try LoopDriver.fix(500, error: 50))).begun?.number == 2)
  }

  @Test("The first location after the start is the reference where none was recent") func aLateReference() throws {
    var loop = try LoopDriver()
    _ = loop.take(.launch(stored: nil))
    _ = loop.take(.location(try LoopDriver.fix(-1000)))
    _ = loop.pass(31)
    let first = try #require(loop.take(.presence(.present)).begun)
    #expect(first.place == nil)
    #expect(loop.take(.location(try LoopDriver.fix(0))) == [.save])
    _ = loop.take(.tested(LoopOutcome(.completed)))
    #expect(loop.take(.location(try LoopDriver.fix(99))).begun == nil)
    #expect(loop.take(.location(try LoopDriver.fix(101))).begun != nil)
  }

  @Test("A loop by time alone needs no location") func timeAlone() throws {
    var loop = try LoopDriver(movement: nil)
    _ = loop.start()
    #expect(!loop.machine.needsLocation)
    _ = loop.take(.location(try LoopDriver.fix(0)))
    _ = loop.take(.tested(LoopOutcome(.completed)))
    #expect(!loop.machine.needsLocation)
    #expect(loop.take(.location(try LoopDriver.fix(9000))).begun == nil)
  }

  @Test("A failed test is repeated once after 60 s, and then counts as run") func failures() throws {
    var loop = try LoopDriver()
    _ = loop.start()
    _ = loop.pass(10)
    _ = loop.take(.location(try LoopDriver.fix(0)))
    #expect(loop.take(.tested(LoopOutcome(.failed, reason: "refused"))) == [.save, .hold])
    // The distance does not bring the repetition forward.
    #expect(loop.take(.location(try LoopDriver.fix(5000))).begun == nil)
    #expect(loop.pass(59.9).begun == nil)
    let again = try #require(loop.pass(0.1).begun)
    #expect(again.number == 1)
    #expect(again.attempt == 2)
    #expect(again.trigger == .retry)
    _ = loop.take(.tested(LoopOutcome(.failed, reason: "refused again")))
    #expect(loop.machine.wait(at: loop.now) == 600_000)
    #expect(loop.pass(600).begun?.number == 2)
    #expect(loop.state.history.map(\.outcome?.reason) == ["refused", "refused again", nil])
  }

  @Test("The repetition of the last test ends the loop") func theLastRepetition() throws {
    var loop = try LoopDriver(tests: 1)
    _ = loop.start()
    #expect(!loop.take(.tested(LoopOutcome(.failed))).contains(.finish(.completed)))
    _ = loop.pass(60)
    #expect(loop.take(.tested(LoopOutcome(.failed))).contains(.finish(.completed)))
    #expect(loop.state.counter == 1)
  }

  @Test("The machine is kept awake only while the next test is not due") func keptAwake() throws {
    var loop = try LoopDriver()
    #expect(!loop.take(.launch(stored: nil)).contains(.hold))
    #expect(loop.take(.presence(.away)).contains(.save))
    #expect(!loop.take(.presence(.present)).contains(.hold))
    #expect(loop.take(.tested(LoopOutcome(.completed))).contains(.hold))
    _ = loop.take(.presence(.away))
    let due = loop.pass(600)
    #expect(due.contains(.release))
    #expect(due.begun == nil)
    #expect(!loop.take(.presence(.present)).contains(.hold))
    #expect(loop.take(.tested(LoopOutcome(.completed))).contains(.hold))
    #expect(loop.take(.stop) == [.save, .release, .finish(.stopped)])
  }

  @Test("A user's stop ends the test first, and nothing begins afterwards") func stop() throws {
    var loop = try LoopDriver()
    _ = loop.start()
    #expect(loop.take(.stop) == [.save, .abort])
    #expect(loop.take(.stop).isEmpty)
    #expect(loop.pass(600).isEmpty)
    #expect(loop.take(.tested(LoopOutcome(.failed))) == [.save, .finish(.stopped)])
    #expect(loop.state.history.map(\.outcome?.status) == [.stopped])
    #expect(loop.pass(6000).isEmpty)
    #expect(loop.take(.presence(.present)).isEmpty)
    #expect(loop.machine.wait(at: loop.now) == nil)
  }

  @Test("The estimate is the wait, the later intervals and a test") func theEstimate() throws {
    var loop = try LoopDriver(tests: 3, movement: nil)
    #expect(loop.state.estimate(at: loop.now) == .seconds(600 * 2 + 20))
    _ = loop.start()
    _ = loop.pass(30)
    _ = loop.take(.tested(LoopOutcome(.completed)))
    #expect(loop.state.estimate(at: loop.now) == .seconds(570 + 600 + 30))
    _ = loop.pass(570)
    #expect(loop.state.estimate(at: loop.now) == .seconds(600 + 30))
    _ = loop.take(.stop)
    _ = loop.take(.tested(LoopOutcome(.stopped)))
    #expect(loop.state.estimate(at: loop.now) == nil)
  }
}
