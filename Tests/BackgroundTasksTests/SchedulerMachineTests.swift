import Testing

@testable import BackgroundTasks

@Suite("The state machine of the scheduler") struct SchedulerMachineTests {
  private static let registered: [String: BackgroundTaskRequest.Kind] = [
    "refresh": .refresh, "process": .processing, "upload": .processing,
  ]
  private static let everything = BackgroundConditions(isInBackground: true, hasNetwork: true, onExternalPower: true)

  /// One that has been launched, with everything there.
  private func machine(_ conditions: BackgroundConditions = everything) throws -> SchedulerMachine {
    var machine = SchedulerMachine(registered: Self.registered)
    _ = try machine.handle(.launch, at: .zero)
    _ = try machine.handle(.conditions(conditions), at: .zero)
    return machine
  }

  private func begun(_ actions: [SchedulerMachine.Action]) -> String? {
    for case .begin(let run) in actions { return run.request.identifier }
    return nil
  }

  @Test("A request waits for its time and its conditions") func aRequestWaitsForItsTimeAndItsConditions() throws {
    var machine = try machine(BackgroundConditions())
    let request = BackgroundTaskRequest(
      "upload", .processing, delay: .seconds(60), requiresNetwork: true, requiresExternalPower: true)
    #expect(try machine.handle(.submit(request), at: .seconds(1)) == [])
    #expect(machine.wake == nil, "time alone does not help")
    let steps: [(BackgroundConditions, ExpirationReason?)] = [
      (.init(), .foreground), (.init(isInBackground: true), .networkLost),
      (.init(isInBackground: true, hasNetwork: true), .powerLost),
      (.init(isInBackground: false, hasNetwork: true, onExternalPower: true), .foreground), (Self.everything, nil),
    ]
    for (conditions, obstacle) in steps {
      #expect(try machine.handle(.conditions(conditions), at: .seconds(2)) == [])
      #expect(machine.obstacle(to: request) == obstacle)
    }
    #expect(machine.wake == .seconds(61))
    #expect(try machine.handle(.timePassed, at: .milliseconds(60_999)) == [])
    let actions = try machine.handle(.timePassed, at: .seconds(61))
    #expect(begun(actions) == "upload")
    #expect(machine.pending.isEmpty)
    #expect(machine.current?.end == .seconds(661))
    #expect(machine.wake == .seconds(656), "it is told five seconds before its time is over")
  }

  @Test("Nothing runs before the launch or after the shutdown") func nothingRunsBeforeTheLaunchOrAfterTheEnd() throws {
    var machine = SchedulerMachine(registered: Self.registered)
    _ = try machine.handle(.conditions(Self.everything), at: .zero)
    _ = try machine.handle(.submit(.init("refresh", .refresh)), at: .zero)
    #expect(machine.current == nil)
    #expect(machine.wake == nil)
    #expect(throws: BackgroundTasksError.self) { try machine.handle(.runNow("refresh"), at: .zero) }
    #expect(begun(try machine.handle(.launch, at: .zero)) == "refresh")
    let actions = try machine.handle(.shutDown, at: .seconds(1))
    #expect(actions == [.expire(1, .shutDown)])
    _ = try machine.handle(.submit(.init("process", .processing)), at: .seconds(1))
    _ = try machine.handle(.ended(1, .failed("cancelled")), at: .seconds(2))
    #expect(machine.current == nil)
    #expect(Set(machine.pending.keys) == ["refresh", "process"])
  }

  @Test("The task that is due first runs first, one at a time") func whatIsDueLongestGoesFirstAndOneAtATime() throws {
    var machine = try machine(BackgroundConditions())
    for (identifier, delay) in [("process", 3), ("refresh", 1), ("upload", 2)] {
      let kind = try #require(Self.registered[identifier])
      _ = try machine.handle(.submit(.init(identifier, kind, delay: .seconds(delay))), at: .zero)
    }
    var order: [String?] = [begun(try machine.handle(.conditions(Self.everything), at: .seconds(9)))]
    for run in 1...3 { order.append(begun(try machine.handle(.ended(run, .completed), at: .seconds(10)))) }
    #expect(order == ["refresh", "upload", "process", nil])
  }

  @Test("A task expires in time and then loses its slot") func aTaskIsToldInTimeAndLosesItsTurn() throws {
    var machine = try machine()
    _ = try machine.handle(.submit(.init("refresh", .refresh)), at: .zero)
    _ = try machine.handle(.submit(.init("process", .processing)), at: .zero)
    #expect(try machine.handle(.timePassed, at: .seconds(25)) == [.expire(1, .budget)])
    #expect(try machine.handle(.timePassed, at: .seconds(26)) == [], "once")
    _ = try machine.handle(.submit(.init("refresh", .refresh)), at: .seconds(27))
    let actions = try machine.handle(.timePassed, at: .seconds(30))
    guard case .record(let run, .overdue) = actions.first else { throw BackgroundTasksError(.busy, "\(actions)") }
    #expect(run.number == 1)
    #expect(begun(actions) == "process")
    #expect(machine.overdue == ["refresh": 1])
    // The other one ends; the late one still blocks its own identifier.
    _ = try machine.handle(.ended(2, .completed), at: .seconds(31))
    #expect(machine.current == nil)
    #expect(machine.wake == nil)
    let error = #expect(throws: BackgroundTasksError.self) { try machine.handle(.runNow("refresh"), at: .seconds(31)) }
    #expect(error?.code == .busy)
    let late = try machine.handle(.ended(1, .completed), at: .seconds(99))
    #expect(begun(late) == "refresh", "and its late end is no second one")
  }

  /// A machine that slept through the whole budget still gives the handler its grace.
  @Test("A late wake-up leaves the grace period") func aLateClockLeavesTheGrace() throws {
    var machine = try machine()
    _ = try machine.handle(.submit(.init("refresh", .refresh)), at: .zero)
    #expect(try machine.handle(.timePassed, at: .seconds(5000)) == [.expire(1, .budget)])
    #expect(machine.wake == .seconds(5005))
  }

  @Test(
    "An interrupted task is pending again",
    arguments: [
      (BackgroundConditions(hasNetwork: true, onExternalPower: true), ExpirationReason.foreground),
      (
        BackgroundConditions(isInBackground: true, isGoingToSleep: true, hasNetwork: true, onExternalPower: true),
        .sleep
      ),
      (BackgroundConditions(isInBackground: true, onExternalPower: true), .networkLost),
      (BackgroundConditions(isInBackground: true, hasNetwork: true), .powerLost),
    ])
  func whatIsInterruptedIsPendingAgain(conditions: BackgroundConditions, reason: ExpirationReason) throws {
    for completes in [true, false] {
      var machine = try machine()
      let request = BackgroundTaskRequest(
        "upload", .processing, delay: .zero, requiresNetwork: true, requiresExternalPower: true)
      _ = try machine.handle(.submit(request), at: .zero)
      #expect(try machine.handle(.conditions(conditions), at: .seconds(3)) == [.expire(1, reason)])
      _ = try machine.handle(.ended(1, completes ? .completed : .failed("cut off")), at: .seconds(4))
      #expect(machine.pending["upload"]?.request == (completes ? nil : request))
      #expect(begun(try machine.handle(.conditions(Self.everything), at: .seconds(5))) == (completes ? nil : "upload"))
    }
  }

  /// What its handler has asked for while it ran counts, not what it was.
  @Test("A new request replaces the old one") func aNewRequestReplacesTheOldOne() throws {
    var machine = try machine()
    _ = try machine.handle(.submit(.init("process", .processing)), at: .zero)
    let next = BackgroundTaskRequest("process", .processing, delay: .seconds(900), requiresNetwork: true)
    _ = try machine.handle(.submit(next), at: .seconds(1))
    #expect(machine.remembered == ["process": .init(request: next, due: .seconds(901))])
    _ = try machine.handle(.conditions(.init()), at: .seconds(2))
    _ = try machine.handle(.ended(1, .failed("")), at: .seconds(3))
    #expect(machine.pending == ["process": .init(request: next, due: .seconds(901))])
  }

  @Test("A user runs and expires a task") func aPersonRunsAndExpires() throws {
    var machine = try machine(BackgroundConditions())
    #expect(begun(try machine.handle(.runNow("upload"), at: .zero)) == "upload")
    #expect(machine.remembered.isEmpty, "nobody asked for it to outlive a crash")
    #expect(try machine.handle(.conditions(.init(isInBackground: true)), at: .zero) == [], "whatever it requires")
    for identifier in ["refresh", "nonsense"] {
      let error = #expect(throws: BackgroundTasksError.self) { try machine.handle(.expireNow(identifier), at: .zero) }
      #expect(error?.code == .notRunning)
    }
    #expect(try machine.handle(.expireNow("upload"), at: .seconds(1)) == [.expire(1, .person)])
    _ = try machine.handle(.ended(1, .failed("told to")), at: .seconds(2))
    #expect(machine.pending.isEmpty)
  }

  /// No task keeps the machine awake, also not one that a person has begun.
  @Test("Nothing runs while the host goes to sleep") func nothingRunsWhileTheMachineGoesToSleep() throws {
    var machine = try machine()
    #expect(begun(try machine.handle(.runNow("upload"), at: .zero)) == "upload")
    var sleep = Self.everything
    sleep.isGoingToSleep = true
    #expect(try machine.handle(.conditions(sleep), at: .seconds(1)) == [.expire(1, .sleep)])
    _ = try machine.handle(.ended(1, .failed("told to")), at: .seconds(2))
    #expect(machine.pending.isEmpty, "nobody asked for another run")
    let error = #expect(throws: BackgroundTasksError.self) { try machine.handle(.runNow("upload"), at: .seconds(3)) }
    #expect(error?.code == .busy)
  }

  @Test("An invalid event is refused and changes nothing") func whatCannotBeIsRefusedAndChangesNothing() throws {
    var machine = try machine()
    let before = machine
    let unknown = #expect(throws: BackgroundTasksError.self) {
      try machine.handle(.submit(.init("nonsense", .refresh)), at: .zero)
    }
    #expect(unknown?.code == .notRegistered)
    #expect(unknown?.hint == "registered are: process, refresh, upload")
    let wrong = #expect(throws: BackgroundTasksError.self) {
      try machine.handle(.submit(.init("refresh", .processing)), at: .zero)
    }
    #expect(wrong?.code == .invalidArgument)
    #expect(machine == before)
  }
}
