import Foundation
import Testing

@testable import SpeedTest

@Suite("A loop over restarts, reboots and clock jumps") struct LoopSurvivalTests {
  @Test("A clock that jumps changes nothing within a boot", arguments: [-86_400_000, 86_400_000] as [Int64])
  func clockJumps(by jump: Int64) throws {
    var loop = try LoopDriver()
    _ = loop.start()
    _ = loop.take(.tested(LoopOutcome(.completed)))
    _ = loop.pass(100)
    loop.now.wallMs += jump
    #expect(loop.take(.timePassed).isEmpty)
    #expect(loop.machine.wait(at: loop.now) == 500_000)
    _ = try loop.restart()
    _ = loop.take(.presence(.present))
    #expect(loop.pass(499.9).begun == nil)
    #expect(loop.pass(0.1).begun?.number == 2)
  }

  @Test("After a reboot the wall clock counts") func reboot() throws {
    var loop = try LoopDriver()
    _ = loop.start()
    _ = loop.take(.tested(LoopOutcome(.completed)))
    _ = loop.pass(100)
    loop.now = LoopInstant(wallMs: loop.now.wallMs + 300_000, boot: "b", bootMs: 20_000)
    #expect(try loop.restart() == [.save, .hold])
    _ = loop.take(.presence(.present))
    #expect(loop.machine.wait(at: loop.now) == 200_000)
    // From now on it does not count any more.
    loop.now.wallMs -= 400_000
    #expect(loop.pass(199.9).begun == nil)
    #expect(loop.pass(0.1).begun?.number == 2)
  }

  @Test("After a reboot with a clock that went back, the time counts that the machine has run") func clockWentBack()
    throws
  {
    var loop = try LoopDriver()
    _ = loop.start()
    _ = loop.pass(100)
    _ = loop.take(.tested(LoopOutcome(.completed)))
    loop.now = LoopInstant(wallMs: 1000, boot: "b", bootMs: 30_000)
    _ = try loop.restart()
    #expect(loop.machine.wait(at: loop.now) == 470_000)
  }

  @Test("A test that the end of the program interrupts is repeated once") func interrupted() throws {
    var loop = try LoopDriver()
    _ = loop.start()
    _ = loop.pass(10)
    #expect(try loop.restart() == [.save, .hold])
    #expect(loop.state.history[0].outcome?.status == .interrupted)
    #expect(loop.take(.presence(.present)).begun == nil)
    #expect(loop.pass(60).begun?.attempt == 2)
    _ = try loop.restart()
    _ = loop.take(.presence(.present))
    #expect(loop.pass(599.9).begun == nil)
    #expect(loop.pass(0.1).begun?.number == 2)
  }

  @Test("A test whose result was stored before the program ended is complete") func storedResult() throws {
    var loop = try LoopDriver(tests: 1)
    _ = loop.start()
    var outcome = LoopOutcome(.completed)
    outcome.download = 1e6
    #expect(try loop.restart(stored: outcome) == [.save, .finish(.completed)])
    #expect(loop.state.history[0].outcome == outcome)
  }

  @Test("A stop during which the program ends is final") func stopped() throws {
    var loop = try LoopDriver()
    _ = loop.start()
    _ = loop.take(.stop)
    #expect(try loop.restart() == [.save, .finish(.stopped)])
  }

  @Test("A loop that is over stays over") func over() throws {
    var loop = try LoopDriver()
    _ = loop.take(.launch(stored: nil))
    _ = loop.take(.stop)
    #expect(try loop.restart() == [.save])
    #expect(loop.take(.presence(.present)).isEmpty)
  }

  @Test("Suspended time counts") func suspend() throws {
    var loop = try LoopDriver()
    _ = loop.start()
    _ = loop.take(.tested(LoopOutcome(.completed)))
    _ = loop.take(.presence(.suspending))
    #expect(loop.pass(3600).begun == nil)
    #expect(loop.take(.presence(.present)).begun?.number == 2)
  }

  @Test("What a machine stores is what another one needs") func roundTrip() throws {
    var loop = try LoopDriver(nightHours: try LoopNightHours(from: 0, to: 60))
    _ = loop.take(.launch(stored: nil))
    _ = loop.take(.location(try LoopDriver.fix(0)))
    _ = loop.take(.presence(.present))
    var outcome = LoopOutcome(.failed, reason: "no answer")
    outcome.alongside = ["uploads"]
    _ = loop.take(.tested(outcome))
    let file = try LoopStore<[String]>.encode(.init(state: loop.state, settings: ["a"]))
    let contents = try #require(LoopStore<[String]>.decode(file))
    #expect(contents.state == loop.state)
    #expect(contents.settings == ["a"])
  }

  @Test("A corrupt file is an error, and stays") func corruptFile() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "loop-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let store = LoopStore<String>(path: folder + "/loop.json")
    #expect(try store.load() == nil)
    var loop = try LoopDriver()
    _ = loop.start()
    try store.save(.init(state: loop.state, settings: ""))
    #expect(try store.load()?.state == loop.state)
    let good = try #require(String(bytes: try Data(contentsOf: URL(filePath: store.path)), encoding: .utf8))
    for (old, new) in [
      ("\"number\" : 1", "\"number\" : 0"), ("\"attempt\" : 1", "\"attempt\" : 3"), ("\"testing\"", "\"ready\""),
      ("\"version\" : 1", "\"version\" : 2"), ("\"tests\" : 3", "\"tests\" : 501"), ("}", ""),
      ("\"knownMs\" : 0", "\"knownMs\" : -1"), ("\"trigger\" : \"first\"", "\"trigger\" : \"whim\""),
    ] {
      let bad = good.replacing(old, with: new)
      #expect(bad != good, "\(old)")
      try Data(bad.utf8).write(to: URL(filePath: store.path))
      #expect(throws: SpeedTestError.self, "\(new)") { try store.load() }
      #expect(FileManager.default.fileExists(atPath: store.path))
    }
  }

  @Test("Extreme numbers in a file end no process", arguments: [Int64.min, .max, -1, 0, 1 << 53])
  func extremeNumbers(number: Int64) throws {
    var loop = try LoopDriver()
    _ = loop.start()
    _ = loop.take(.tested(LoopOutcome(.completed)))
    let good = String(decoding: try LoopStore<String>.encode(.init(state: loop.state, settings: "")), as: UTF8.self)
    for key in ["dueMs", "knownMs", "startBootMs", "startWallMs", "startMs", "ignored", "delayMs", "durationMs"] {
      let bad = good.replacing(try Regex("\"\(key)\" : -?[0-9]+"), with: "\"\(key)\" : \(number)")
      guard let contents = LoopStore<String>.decode(Data(bad.utf8)) else { continue }
      for boot in ["a", "b"] {
        var machine = LoopMachine(contents.state)
        var now = LoopDriver.noon
        now.boot = boot
        _ = machine.handle(.launch(stored: nil), at: now)
        _ = machine.handle(.presence(.away), at: now)
        _ = machine.wait(at: now)
        _ = machine.state.estimate(at: now)
      }
    }
  }
}
