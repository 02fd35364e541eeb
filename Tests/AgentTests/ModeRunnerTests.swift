import Foundation
import NetworkPath
import Streams
import SystemState
import Testing

@testable import Agent

@Suite("The mode runner and its services", .timeLimit(.minutes(5))) struct ModeRunnerTests {
  private let on = ModeRecord(mode: .on)
  private let local = ModeRecord(mode: .bluetoothLocal)

  @Test("A lost network changes On to Bluetooth Local until the user chooses On") func theNetworkGoesAndComesBack()
    async throws
  {
    let fixture = Fixture(on)
    try await fixture.running { fixture in
      await fixture.works(.heartbeat)
      fixture.say(Fixture.lost)
      await fixture.works(.phone)
      #expect(fixture.status.mode == .bluetoothLocal)
      #expect(fixture.status.cause == .networkLoss)
      #expect(fixture.status.counters.downgrades == 1)
      #expect(fixture.status.network?.status == .unsatisfied)
      fixture.say(Fixture.wired)
      fixture.say(Fixture.lost)
      fixture.say(Fixture.wired)
      await fixture.floor.until { fixture.floor.journal.count { $0.hasPrefix("notify") } == 2 }
      #expect(fixture.status.mode == .bluetoothLocal)
      #expect(fixture.status.runState == .running)
      let status = await fixture.runner.choose(.on)
      #expect(status.mode == .on)
      #expect(status.runState == .stopping)
      await fixture.works(.heartbeat)
    }
    // What is kept on disk comes first, and what runs ends before the next begins.
    #expect(
      fixture.floor.journal == [
        "heartbeat begins", "save bluetooth-local", "heartbeat ends", "phone begins", "notify network_returned",
        "notify network_returned", "save on", "phone ends", "heartbeat begins", "heartbeat ends",
      ])
    #expect(fixture.status.mode == .on)
    #expect(fixture.status.runState == .stopped)
    #expect(
      fixture.runner.log.newest().map(\.kind) == [
        .applied, .started, .downgraded, .stopped, .started, .networkReturned, .networkReturned, .chosen, .stopped,
        .started, .stopped,
      ])
  }

  @Test("No service starts while another one stops") func nothingStartsWhileSomethingStops() async throws {
    let fixture = Fixture(local)
    try await fixture.running { fixture in
      await fixture.works(.phone)
      fixture.phone.linger()
      await fixture.runner.choose(.on)
      await fixture.floor.until { fixture.floor.journal.contains("phone lingers") }
      #expect(fixture.status.runState == .stopping)
      #expect(fixture.floor.active == [.phone])
      // What changes meanwhile is no reason to begin either.
      await fixture.runner.choose(.off)
      await fixture.runner.choose(.on)
      #expect(fixture.floor.active == [.phone])
      fixture.phone.mayEnd()
      await fixture.works(.heartbeat)
      #expect(fixture.floor.mostAtOnce == 1)
      #expect(fixture.floor.active == [.heartbeat])
    }
  }

  @Test("A service that does not stop ends the run with an error", .timeLimit(.minutes(5)))
  func whatDoesNotStopEndsTheRun() async throws {
    let fixture = Fixture(local)
    let run = Task { try await fixture.runToItsEnd() }
    await fixture.floor.until { fixture.floor.active == [.phone] }
    fixture.phone.linger()
    await fixture.runner.choose(.on)
    await fixture.clock.advance(toSleeperAt: .seconds(8))
    let error = await #expect(throws: AgentError.self) { try await run.value }
    #expect(error?.code == .serviceHangs)
    #expect(fixture.floor.active == [.phone])
    #expect(fixture.floor.mostAtOnce == 1)
    fixture.phone.mayEnd()
    while await !fixture.runner.services.jobs.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
    #expect(await fixture.runner.services.retries.isEmpty, "what ends after the run is not tried again")
  }

  /// Also when the whole is to end.
  @Test("A service that hangs at shutdown ends the run with an error") func whatDoesNotStopAtTheEnd() async throws {
    let fixture = Fixture(local)
    let run = Task { try await fixture.runToItsEnd() }
    await fixture.floor.until { fixture.floor.active == [.phone] }
    fixture.phone.linger()
    run.cancel()
    await fixture.clock.advance(toSleeperAt: .seconds(8))
    let error = await #expect(throws: AgentError.self) { try await run.value }
    #expect(error?.code == .serviceHangs)
    fixture.phone.mayEnd()
  }

  @Test("A failing service is started again after growing delays") func whatFailsIsTriedAgainLaterEachTime()
    async throws
  {
    let fixture = Fixture(local)
    try await fixture.running { fixture in
      // With no chance in it, half of 1 s, 2 s, 4 s …, and of 1 min at most.
      var time = Duration.zero
      for delay in [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000].map(Duration.milliseconds) {
        await fixture.floor.until { fixture.floor.active == [.phone] }
        fixture.phone.order(.fail("no adapter"))
        await fixture.until { $0.runState == .failed(because: "no adapter") }
        time += delay
        await fixture.clock.advance(toSleeperAt: time)
      }
      #expect(fixture.status.counters.failures == 8)
      #expect(fixture.status.lastFailure?.contains("no adapter") == true)
      // One that works, but not for long, has not recovered yet.
      await fixture.works(.phone)
      fixture.phone.order(.end)
      await fixture.until { $0.runState == .failed(because: "it ended by itself") }
      time += .seconds(30)
      await fixture.clock.advance(toSleeperAt: time)
      await fixture.works(.phone)
      time += .seconds(60)
      fixture.clock.advance(by: .seconds(60))
      fixture.phone.order(.fail("no adapter"))
      await fixture.clock.advance(toSleeperAt: time + .milliseconds(500))
      await fixture.works(.phone)
    }
    // The same failure in a row stands in the log once.
    #expect(
      fixture.runner.log.newest().map(\.kind) == [
        .applied, .failed, .started, .failed, .started, .failed, .started, .stopped,
      ])
    #expect(fixture.status.counters.starts == 11)
  }

  @Test("Choosing the mode starts a failed service at once") func aPersonNeedNotWait() async throws {
    let fixture = Fixture(local)
    try await fixture.running { fixture in
      await fixture.floor.until { fixture.floor.active == [.phone] }
      fixture.phone.order(.fail("no adapter"))
      await fixture.until { $0.runState == .failed(because: "no adapter") }
      await fixture.runner.choose(.bluetoothLocal)
      await fixture.works(.phone)
    }
  }

  @Test("A write that failed on a full disk is reported and tried again") func aFullDiskIsSaidAndTriedAgain()
    async throws
  {
    let fixture = Fixture(ModeRecord())
    try await fixture.running { fixture in
      fixture.floor.fillDisk(true)
      let status = await fixture.runner.choose(.bluetoothLocal)
      // It holds all the same, and says what is wrong.
      #expect(status.mode == .bluetoothLocal)
      #expect(status.storageProblem?.contains("the disk is full") == true)
      await fixture.works(.phone)
      await fixture.clock.advance(toSleeperAt: .milliseconds(500))
      await fixture.until { $0.counters.savesFailed == 2 }
      #expect(fixture.floor.disk == ModeRecord())
      fixture.floor.fillDisk(false)
      await fixture.clock.advance(toSleeperAt: .milliseconds(1500))
      await fixture.until { $0.storageProblem == nil }
      #expect(fixture.floor.disk == ModeRecord(mode: .bluetoothLocal))
    }
    #expect(fixture.runner.log.newest().count { $0.kind == .storage } == 2)
  }

  @Test("Nothing runs on battery if that is the setting") func withoutPowerNothingStarts() async throws {
    let fixture = Fixture(local)
    try await fixture.running { fixture in
      await fixture.works(.phone)
      fixture.say(Fixture.power(false))
      await fixture.until { $0.power?.onExternalPower == false }
      #expect(fixture.status.runState == .running)
      let status = await fixture.runner.setRunOnlyWhileCharging(true)
      #expect(status.runState == .stopping)
      await fixture.until { $0.runState == .blocked(.notCharging) }
      #expect(fixture.floor.active.isEmpty)
      #expect(fixture.status.mode == .bluetoothLocal)
      fixture.say(Fixture.power(true))
      await fixture.works(.phone)
    }
    #expect(fixture.floor.disk == ModeRecord(mode: .bluetoothLocal, runOnlyWhileCharging: true))
  }

  @Test("The end of the network monitor ends the run") func withoutANetworkToWatchItEnds() async throws {
    let fixture = Fixture(local)
    fixture.endPaths()
    let error = await #expect(throws: AgentError.self) { try await fixture.runToItsEnd() }
    #expect(error?.code == .inputEnded)
    await fixture.floor.until { fixture.floor.active.isEmpty }
  }

  /// What was so when the power was cut is so again, and the events go on.
  @Test("The mode and the events survive kill -9") func killedAndStartedAgain() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "edgeblue-agent-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    func makeRunner(_ floor: Floor = Floor()) throws -> ModeRunner {
      try ModeRunner(
        store: ModeStore(path: folder.appending(path: "mode.json").path),
        log: EventLog(path: folder.appending(path: "events.jsonl").path),
        phone: FakeRunner(.phone, floor), heartbeat: FakeRunner(.heartbeat, floor))
    }
    let floor = Floor()
    let first = try makeRunner(floor)
    await first.choose(.on)
    await first.setRunOnlyWhileCharging(true)
    await first.take(Fixture.power(true))
    let (paths, path) = BoundedStream.make(of: PathUpdate.self, limit: 1)
    let (powers, power) = BoundedStream.make(of: PowerUpdate.self, limit: 1)
    let run = Task { try await first.run(paths: paths, powers: powers) }
    await floor.until { floor.active == [.heartbeat] }
    path.yield(PathUpdate(number: 1, path: Fixture.lost))
    await floor.until { floor.active == [.phone] }

    // The first one was not told to end: its files are those of a killed program.
    let second = try makeRunner()
    #expect(second.status.mode == .bluetoothLocal)
    #expect(second.status.cause == .networkLoss)
    #expect(second.status.runOnlyWhileCharging)
    #expect(second.status.eventCount == first.status.eventCount)
    #expect(second.log.newest() == first.log.newest())

    try Data("{".utf8).write(to: folder.appending(path: "mode.json"))
    let third = try makeRunner()
    #expect(third.status.mode == .off)
    #expect(third.status.lastFailure?.contains("does not hold a mode") == true)
    #expect(third.log.newest().last?.kind == .storage)
    run.cancel()
    try await run.value
    power.finish()
  }
}
