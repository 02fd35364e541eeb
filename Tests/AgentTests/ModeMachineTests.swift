import DeterministicTesting
import Testing

@testable import Agent

@Suite("The rules that hold in every reachable state of the mode") struct ModeMachineTests {
  typealias Event = ModeMachine.Event
  typealias Action = ModeMachine.Action

  private static let records = ComputeMode.allCases.flatMap { mode in
    ModeRecord.Cause.allCases.flatMap { cause in
      [false, true].map { ModeRecord(mode: mode, cause: cause, runOnlyWhileCharging: $0) }
    }
  }

  @Test("The rules hold in every reachable state") func theRulesHoldInEveryReachableState() {
    var known = Set(Self.records.map { ModeMachine($0) })
    var new = Array(known)
    var transitions = 0
    while let machine = new.popLast() {
      for event in ModeTableTests.events {
        var after = machine
        let actions = after.handle(event)
        check(machine, event, actions, after)
        transitions += 1
        if known.insert(after).inserted { new.append(after) }
      }
    }
    // Few enough to look at all, and enough that something was looked at.
    #expect((300...40_000).contains(known.count))
    #expect(transitions == known.count * ModeTableTests.events.count)
  }

  private func check(_ before: ModeMachine, _ event: Event, _ actions: [Action], _ after: ModeMachine) {
    // Only a person goes to On, and the network's loss is the only thing besides that changes a mode.
    if after.record.mode != before.record.mode, event != .choose(after.record.mode) {
      #expect(after.record.mode == .bluetoothLocal)
      #expect(after.record.cause == .networkLoss)
      #expect(before.record.mode == .on || event == .choose(.on))
      #expect(actions.contains(.log(.downgraded(because: "no carrier"))))
    }
    if after.record.mode == .on, before.record.mode != .on { #expect(event == .choose(.on)) }
    if after.isActive, case .lost = after.path {
      let waits = !after.hasBluetooth && after.block != nil
      #expect(after.record.mode != .on || waits)
    }
    #expect(after.record.cause == .person || after.record.mode == .bluetoothLocal)

    // What is on disk is what counts, and is written before anything else is done.
    #expect(actions.contains(.persist(after.record)) == (after.record != before.record))
    if let place = actions.firstIndex(where: { if case .persist = $0 { true } else { false } }) { #expect(place == 0) }

    // What is reported.
    if after.runState == .running {
      #expect(after.wanted.map { after[$0] } == .running)
      #expect(after.isActive)
      #expect(after.record.mode != .off)
      #expect(!after.record.runOnlyWhileCharging || after.onExternalPower == true)
    }
    if after.block != nil { #expect(after.wanted == nil) }

    // What runs: one at a time, what the mode wants, and nothing behind a closed gate.
    #expect(after.phone == .idle || after.heartbeat == .idle || isFailed(after.phone) || isFailed(after.heartbeat))
    for service in ComputeService.allCases {
      let starts = actions.contains(.start(service))
      let stops = actions.contains(.stop(service))
      if [.starting, .running].contains(after[service]) { #expect(after.wanted == service) }
      let isStarting = before[service] != .starting && after[service] == .starting
      let isStopping = [.starting, .running].contains(before[service]) && after[service] == .stopping
      #expect(starts == isStarting)
      #expect(stops == isStopping)
      if starts { #expect(after[service.other] == .idle) }
      if isFailed(after[service]) { #expect(after.wanted == service) }
    }

    // A person is told once for each return.
    let isReturn = event == .networkFound && before.path != .found && before.record.cause == .networkLoss
    #expect(actions.contains(.notify(.networkReturned)) == isReturn)
  }

  private func isFailed(_ phase: ModeMachine.Phase) -> Bool {
    if case .failed = phase { true } else { false }
  }

  /// Against services that take their time: after whatever happened, what is wanted runs, and nothing else does.
  @Test("The state machine settles in every reachable state", arguments: 0..<100) func itComesToRest(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var world = World(Self.records.randomElement(using: &generator) ?? ModeRecord())
    world.happens(.start)
    for _ in 0..<200 {
      if Bool.random(using: &generator) {
        world.happens(World.causes.randomElement(using: &generator) ?? .shutDown)
      } else {
        world.works(using: &generator)
      }
      #expect(world.machine.runState != .running || !world.running.isEmpty)
      #expect(world.started.count <= 1)
    }
    world.comesToRest(using: &generator)
    #expect(world.running == Set([world.machine.wanted].compactMap(\.self)))
    #expect((world.machine.runState == .running) == (world.machine.wanted != nil))
    world.happens(.shutDown)
    world.comesToRest(using: &generator)
    #expect(world.started.isEmpty)
    #expect(world.machine.runState == .stopped)
    #expect(world.disk == world.machine.record)
  }
}

/// The services around a machine, as they behave: they take their time, and fail.
private struct World {
  static let causes: [ModeMachine.Event] = [
    .choose(.off), .choose(.on), .choose(.bluetoothLocal), .setRunOnlyWhileCharging(true),
    .setRunOnlyWhileCharging(false), .networkFound, .networkLost(because: "gone"), .power(onExternalPower: true),
    .power(onExternalPower: false), .bluetooth(isAvailable: true), .bluetooth(isAvailable: false),
  ]

  var machine: ModeMachine
  /// What was started and has not ended.
  var started: Set<ComputeService> = []
  /// Of these, what works.
  var running: Set<ComputeService> = []
  /// Of these, what was told to stop.
  var stopping: Set<ComputeService> = []
  var retries: Set<ComputeService> = []
  var disk: ModeRecord

  init(_ record: ModeRecord) {
    machine = ModeMachine(record)
    disk = record
  }

  /// Whether nothing would happen any more by itself.
  var isAtRest: Bool { stopping.isEmpty && retries.isEmpty && running == started }

  /// Nothing more is asked for or fails; then it takes a few steps at most.
  mutating func comesToRest(using generator: inout SeededGenerator) {
    for _ in 0..<10 where !isAtRest { works(using: &generator, mayFail: false) }
    #expect(isAtRest)
  }

  mutating func happens(_ event: ModeMachine.Event) {
    for effect in machine.handle(event) {
      switch effect {
      case .start(let service):
        let isNew = started.insert(service).inserted
        #expect(isNew)
      case .stop(let service): if started.contains(service) { stopping.insert(service) }
      case .retryLater(let service): retries.insert(service)
      case .persist(let record): disk = record
      case .log, .notify: break
      }
    }
  }

  /// One service gets one step further, in whatever direction.
  mutating func works(using generator: inout SeededGenerator, mayFail: Bool = true) {
    if let service = retries.first {
      retries.remove(service)
      return happens(.retry(service))
    }
    guard let service = started.first else { return }
    if stopping.contains(service) || (mayFail && Int.random(in: 0..<4, using: &generator) == 0) {
      let wasAsked = stopping.remove(service) != nil
      started.remove(service)
      running.remove(service)
      happens(.ended(service, because: wasAsked ? nil : "broken"))
    } else if running.insert(service).inserted {
      happens(.started(service))
    }
  }
}
