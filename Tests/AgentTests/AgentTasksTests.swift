import BackgroundTasks
import Foundation
import SystemState
import Testing
import Timing

@testable import Agent

@Suite("The agent's background tasks", .timeLimit(.minutes(5))) struct AgentTasksTests {
  private let runtime = TasksFixture.runtime
  private let heartbeat = TasksFixture.heartbeat

  /// Six runs of the runtime, an hour: a heartbeat is asked for every 15 s and never later.
  @Test("The runtime task runs again after its time budget") func theRuntimeGoesOnAndOn() async throws {
    let fixture = try TasksFixture()
    let clock = fixture.clock
    try await fixture.running {
      try await fixture.begin()
      #expect(await fixture.next() == .began(identifier: runtime, run: 1))
      for run in 1...6 {
        let begun = clock.now.offset
        for beat in 1...39 {
          await clock.advance(toSleeperAt: begun + .seconds(15 * beat))
          await fixture.sender.isAsked()
        }
        // Its ten minutes are over but for the grace.
        await clock.advance(toSleeperAt: begun + .seconds(597))
        #expect(await fixture.next() == .expired(identifier: runtime, run: run, .budget))
        #expect(await fixture.next() == .ended(identifier: runtime, run: run, .completed))
        #expect(await fixture.next() == .began(identifier: runtime, run: run + 1))
        await fixture.sender.isAsked()
        // Each run has put the other task off: it is for when this one does not run.
        try await fixture.until(runtime: .seconds(15), heartbeat: .seconds(900))
      }
      #expect(fixture.sender.count == 6 * 40 + 1)
      let status = await fixture.tasks.tasks
      #expect(status.map(\.completed) == [6, 0])
      #expect(status.map(\.isRunning) == [true, false])
    }
    #expect(fixture.log.newest().map(\.kind) == [.task, .task], "that both became pending, and no more")
  }

  @Test("Tasks are pending in the background while the mode offers compute")
  func pendingInTheBackgroundWhileSomethingIsOffered() async throws {
    let fixture = try TasksFixture()
    let (both, none): ([Duration?], [Duration?]) = ([.seconds(1), .seconds(900)], [nil, nil])
    for state in [RunState.starting, .running, .failed(because: "no adapter")] {
      #expect(await fixture.tell(.on, state, TasksFixture.inForeground).map(\.wait) == none)
      #expect(await fixture.tell(.on, state).map(\.wait) == both)
      let waiting = await fixture.tell(.on, state, TasksFixture.inForeground)
      #expect(waiting.map(\.wait) == both)
      #expect(waiting.map(\.obstacle) == [.foreground, .foreground])
      // Before the agent begins and when it is about to end, what is pending stays so.
      #expect(await fixture.tell(.bluetoothLocal, .stopped).map(\.wait) == both)
      #expect(await fixture.tell(.bluetoothLocal, state).map(\.wait) == both)
      #expect(await fixture.tell(.off, .stopping).map(\.wait) == none)
      #expect(await fixture.tell(.bluetoothLocal, state).map(\.wait) == both)
      #expect(await fixture.tell(.on, .blocked(.notCharging)).map(\.wait) == none)
    }
    #expect(fixture.log.count == 3 * 6)
    #expect(fixture.log.newest().allSatisfy { $0.kind == .task })
  }

  @Test("The foreground and a sleep expire a run") func theForegroundAndSleepEndARun() async throws {
    for (phase, reason) in [(AppLifecycle.foreground, ExpirationReason.foreground), (.suspending, .sleep)] {
      let fixture = try TasksFixture()
      try await fixture.running {
        try await fixture.begin()
        #expect(await fixture.next() == .began(identifier: runtime, run: 1))
        #expect(fixture.activity.state == .waiting, "the sleep is to wait")
        fixture.say(.on, .running, LifecycleSnapshot(phase: phase, reason: .active))
        #expect(await fixture.next() == .expired(identifier: runtime, run: 1, reason))
        #expect(await fixture.next() == .ended(identifier: runtime, run: 1, .completed))
        #expect(fixture.activity.state == .released)
        #expect(await fixture.tasks.tasks.map(\.obstacle) == [reason, reason])
        fixture.clock.advance(by: .seconds(3600))
        fixture.say(.on)
        #expect(await fixture.next() == .began(identifier: runtime, run: 2))
      }
    }
  }

  @Test("A failing task is logged once and tried again") func whatFailsIsToldOnceAndTriedAgain() async throws {
    let fixture = try TasksFixture()
    try await fixture.running {
      fixture.sender.answer(.fails("there is no coordinator"))
      try await fixture.begin()
      for run in 1...4 {
        #expect(await fixture.next() == .began(identifier: runtime, run: run))
        let ended = await fixture.next()
        #expect(ended == .ended(identifier: runtime, run: run, .failed("not configured: there is no coordinator")))
        if run == 4 { fixture.sender.answer(.sent) }
        await fixture.clock.advance(toSleeperAt: .seconds(1 + 15 * run))
      }
      #expect(await fixture.next() == .began(identifier: runtime, run: 5))
      #expect(await fixture.tasks.tasks.first?.failed == 4)
      #expect(await fixture.tasks.tasks.first?.problem == "not configured: there is no coordinator")
      try await fixture.tasks.expireNow(runtime)
      #expect(await fixture.next() == .expired(identifier: runtime, run: 5, .person))
      #expect(await fixture.next() == .ended(identifier: runtime, run: 5, .completed))
      #expect(await fixture.tasks.tasks.first?.problem == nil)
    }
    let told = fixture.log.newest().dropFirst(2).map(\.text)
    #expect(
      told == [
        "\(runtime) has failed: not configured: there is no coordinator", "\(runtime) is completed again",
      ])
  }

  /// Told to end while a heartbeat is under way: that one did not get through, and the run says so.
  @Test("A run that is cancelled before its heartbeat fails") func anUnfinishedHeartbeatIsAFailure() async throws {
    let fixture = try TasksFixture()
    try await fixture.running {
      fixture.sender.answer(.hangs)
      try await fixture.begin()
      #expect(await fixture.next() == .began(identifier: runtime, run: 1))
      await fixture.clock.advance(toSleeperAt: .seconds(1 + 597))
      #expect(await fixture.next() == .expired(identifier: runtime, run: 1, .budget))
      let reason = "interrupted: the task was cancelled before the heartbeat was sent"
      #expect(await fixture.next() == .ended(identifier: runtime, run: 1, .failed(reason)))
    }
  }

  /// What does not end when it is told blocks only itself: a quarter of an hour after it began the other one runs.
  @Test("The heartbeat task runs when the runtime task does not") func theHeartbeatStandsInForTheRuntime() async throws
  {
    let fixture = try TasksFixture()
    try await fixture.running {
      fixture.sender.answer(.ignoresTheEnd)
      try await fixture.begin()
      #expect(await fixture.next() == .began(identifier: runtime, run: 1))
      await fixture.clock.advance(toSleeperAt: .seconds(1 + 597))
      #expect(await fixture.next() == .expired(identifier: runtime, run: 1, .budget))
      await fixture.clock.advance(toSleeperAt: .seconds(1 + 600))
      #expect(await fixture.next() == .ended(identifier: runtime, run: 1, .overdue))
      #expect(await fixture.tasks.tasks.map(\.isOverdue) == [true, false])
      fixture.sender.answer(.sent)
      await fixture.clock.advance(toSleeperAt: .seconds(1 + 900))
      #expect(await fixture.next() == .began(identifier: heartbeat, run: 2))
      #expect(await fixture.next() == .ended(identifier: heartbeat, run: 2, .completed))
      try await fixture.until(runtime: .zero, heartbeat: .seconds(900))
      fixture.sender.mayEnd()
      #expect(await fixture.next() == .began(identifier: runtime, run: 3))
    }
  }

  /// Its end is no event for anybody: what is wanted must be pending before.
  @Test("A task is pending again while an earlier run of it is overdue") func wantedAgainWhileOverdue() async throws {
    let fixture = try TasksFixture()
    try await fixture.running {
      fixture.sender.answer(.ignoresTheEnd)
      try await fixture.begin()
      #expect(await fixture.next() == .began(identifier: runtime, run: 1))
      fixture.say(.off, .stopped)
      try await fixture.until(runtime: nil, heartbeat: nil)
      try await fixture.tasks.expireNow(runtime)
      #expect(await fixture.next() == .expired(identifier: runtime, run: 1, .person))
      await fixture.clock.advance(toSleeperAt: .seconds(1 + 3))
      #expect(await fixture.next() == .ended(identifier: runtime, run: 1, .overdue))
      fixture.say(.on)
      try await fixture.until(runtime: .seconds(1), heartbeat: .seconds(900))
      #expect(await fixture.tasks.tasks.map(\.isOverdue) == [true, false])
      fixture.sender.answer(.sent)
      fixture.sender.mayEnd()
      await fixture.clock.advance(toSleeperAt: .seconds(1 + 3 + 1))
      #expect(await fixture.next() == .began(identifier: runtime, run: 2))
    }
  }

  /// In Bluetooth Local there is nobody to send a heartbeat to.
  @Test("Only the mode On has heartbeats") func onlyOnHasHeartbeats() async throws {
    let fixture = try TasksFixture()
    try await fixture.running {
      fixture.say(.bluetoothLocal)
      try await fixture.until(runtime: .seconds(1), heartbeat: .seconds(900))
      try await fixture.tasks.runNow(heartbeat)
      #expect(await fixture.next() == .began(identifier: heartbeat, run: 1))
      #expect(await fixture.next() == .ended(identifier: heartbeat, run: 1, .completed))
      await fixture.clock.advance(toSleeperAt: .seconds(1))
      #expect(await fixture.next() == .began(identifier: runtime, run: 2))
      // And when nothing is offered any more, the runtime ends by itself.
      await fixture.clock.waitForSleeper(until: .seconds(16))
      fixture.say(.off, .stopped)
      try await fixture.until(runtime: nil, heartbeat: nil)
      await fixture.clock.advance(toSleeperAt: .seconds(16))
      #expect(await fixture.next() == .ended(identifier: runtime, run: 2, .completed))
      // Also one that a person runs now leaves nothing behind.
      try await fixture.tasks.runNow(runtime)
      #expect(await fixture.next() == .began(identifier: runtime, run: 3))
      #expect(await fixture.next() == .ended(identifier: runtime, run: 3, .completed))
      try await fixture.until(runtime: nil, heartbeat: nil)
      #expect(fixture.sender.count == 0)
    }
  }

  @Test("The mode and the events survive kill -9") func killedAndStartedAgain() async throws {
    let killed = try TasksFixture()
    try await killed.running {
      try await killed.begin()
      // The first one was not told to end: its file is that of a killed program.
      let again = try TasksFixture(folder: killed.folder)
      #expect(await again.tasks.tasks.map(\.wait) == [.seconds(15), .seconds(900)])
      try await again.running {
        // It comes to the background again, and nothing is put off by that.
        again.say(.on)
        await again.clock.advance(toSleeperAt: .seconds(15))
        #expect(await again.next() == .began(identifier: runtime, run: 1))
      }
    }
  }

  @Test("Pending tasks that a full disk rejected are reported and written again") func aFullDiskIsToldAndTriedAgain()
    async throws
  {
    let fixture = try TasksFixture()
    fixture.isDiskFull.withLock { $0 = true }
    try await fixture.running {
      fixture.say(.on)
      while fixture.log.count == 0 { try await Task.sleep(for: .milliseconds(1), clock: .steady) }
      fixture.isDiskFull.withLock { $0 = false }
      // After a second at most.
      fixture.clock.advance(by: .seconds(1))
      while await fixture.tasks.tasks.contains(where: { $0.wait == nil }) {
        try await Task.sleep(for: .milliseconds(1), clock: .steady)
      }
    }
    #expect(fixture.log.newest().map(\.kind) == [.storage, .task, .task])
  }
}

@Suite("Heartbeats that a mode sends", .timeLimit(.minutes(5))) struct ModeHeartbeatsTests {
  /// A task waits for the service that is about to work, and fails with the reason of one that has failed.
  @Test("The sender waits for the service of the mode On") func theServiceIsAsked() async throws {
    let fixture = Fixture(ModeRecord(mode: .on))
    let heartbeats = ModeHeartbeats(fixture.runner)
    try await fixture.running { fixture in
      await fixture.floor.until { fixture.floor.active == [.heartbeat] }
      let waiting = Task { try await heartbeats.sendHeartbeatIfNeeded() }
      let cancelled = Task { try await heartbeats.sendHeartbeatIfNeeded() }
      cancelled.cancel()
      await #expect(throws: CancellationError.self) { try await cancelled.value }
      #expect(fixture.status.runState == .starting)
      await fixture.works(.heartbeat)
      try await waiting.value
      try await heartbeats.sendHeartbeatIfNeeded()
      var coordinator = CoordinatorStatus(address: "https://coordinator.example", agentID: "a", problem: "status 503")
      await fixture.runner.take(coordinator)
      let refused = await #expect(throws: AgentError.self) { try await heartbeats.sendHeartbeatIfNeeded() }
      #expect(refused?.code == .noHeartbeat)
      #expect(refused?.message == "status 503")
      coordinator.problem = nil
      await fixture.runner.take(coordinator)
      try await heartbeats.sendHeartbeatIfNeeded()
      fixture.heartbeat.order(.fail("no coordinator"))
      await fixture.until { $0.runState == .failed(because: "no coordinator") }
      let error = await #expect(throws: AgentError.self) { try await heartbeats.sendHeartbeatIfNeeded() }
      #expect(error?.code == .noHeartbeat)
      #expect(error?.message == "no coordinator")
      // Elsewhere there are none.
      await fixture.runner.choose(.off)
      try await heartbeats.sendHeartbeatIfNeeded()
      #expect(fixture.floor.mostAtOnce == 1)
    }
  }
}
