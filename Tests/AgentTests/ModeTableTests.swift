import Testing

@testable import Agent

@Suite("The table of states and events of the mode") struct ModeTableTests {
  typealias Event = ModeMachine.Event
  typealias Action = ModeMachine.Action

  /// A state, by the events that lead there.
  struct Situation: Sendable {
    var name: String
    var restored: ModeRecord
    var events: [Event]
    var runState: RunState

    var machine: ModeMachine {
      var machine = ModeMachine(restored)
      for event in events { _ = machine.handle(event) }
      return machine
    }
  }

  static let loss = ModeRecord(mode: .bluetoothLocal, cause: .networkLoss)
  static let offline = Event.networkLost(because: "no carrier")
  static let broken = Event.ended(.heartbeat, because: "broken")

  static let situations: [Situation] = [
    .init(name: "Off", restored: .init(), events: [.start], runState: .stopped),
    .init(name: "On, starting", restored: .init(mode: .on), events: [.start], runState: .starting),
    .init(name: "On, running", restored: .init(mode: .on), events: [.start, .started(.heartbeat)], runState: .running),
    .init(
      name: "On, failed", restored: .init(mode: .on), events: [.start, broken], runState: .failed(because: "broken")),
    .init(
      name: "On, blocked", restored: .init(mode: .on, runOnlyWhileCharging: true),
      events: [.start, .power(onExternalPower: false)], runState: .blocked(.notCharging)),
    .init(
      name: "Local, running", restored: .init(mode: .bluetoothLocal), events: [.start, .started(.phone)],
      runState: .running),
    .init(
      name: "Local by itself", restored: .init(mode: .on),
      events: [.start, .started(.heartbeat), offline, .ended(.heartbeat, because: nil), .started(.phone)],
      runState: .running),
    .init(
      name: "Off, stopping", restored: .init(mode: .on), events: [.start, .started(.heartbeat), .choose(.off)],
      runState: .stopping),
  ]

  /// What an event does in a situation: the actions, and what is then reported.
  typealias Row = (event: Event, actions: [Action], runState: RunState)

  /// The same whether the service is starting or running.
  static let onAndServing: [Row] = [
    (.shutDown, [.stop(.heartbeat)], .stopping),
    (.choose(.off), [.persist(.init()), .log(.chosen(.off)), .stop(.heartbeat)], .stopping),
    (
      .choose(.bluetoothLocal),
      [.persist(.init(mode: .bluetoothLocal)), .log(.chosen(.bluetoothLocal)), .stop(.heartbeat)], .stopping
    ),
    (
      .setRunOnlyWhileCharging(true),
      [
        .persist(.init(mode: .on, runOnlyWhileCharging: true)), .log(.blocked(.powerUnknown)),
        .stop(.heartbeat),
      ], .stopping
    ),
    (offline, [.persist(loss), .log(.downgraded(because: "no carrier")), .stop(.heartbeat)], .stopping),
    (broken, [.log(.failed(.heartbeat, because: "broken")), .retryLater(.heartbeat)], .failed(because: "broken")),
    (
      .ended(.heartbeat, because: nil),
      [.log(.failed(.heartbeat, because: "it ended by itself")), .retryLater(.heartbeat)],
      .failed(because: "it ended by itself")
    ),
  ]

  /// By situation. Nothing is written down where nothing happens.
  static let rows: [String: [Row]] = [
    "Off": [
      (.choose(.on), [.persist(.init(mode: .on)), .log(.chosen(.on)), .start(.heartbeat)], .starting),
      (
        .choose(.bluetoothLocal),
        [.persist(.init(mode: .bluetoothLocal)), .log(.chosen(.bluetoothLocal)), .start(.phone)], .starting
      ),
      (.setRunOnlyWhileCharging(true), [.persist(.init(runOnlyWhileCharging: true))], .stopped),
    ],
    "On, starting": onAndServing + [(.started(.heartbeat), [], .running)],
    "On, running": onAndServing,
    "On, failed": [
      (.shutDown, [], .stopped),
      (.choose(.off), [.persist(.init()), .log(.chosen(.off))], .stopped),
      (.choose(.on), [.start(.heartbeat)], .starting),
      (
        .choose(.bluetoothLocal),
        [.persist(.init(mode: .bluetoothLocal)), .log(.chosen(.bluetoothLocal)), .start(.phone)], .starting
      ),
      (
        .setRunOnlyWhileCharging(true),
        [.persist(.init(mode: .on, runOnlyWhileCharging: true)), .log(.blocked(.powerUnknown))],
        .blocked(.powerUnknown)
      ),
      (offline, [.persist(loss), .log(.downgraded(because: "no carrier")), .start(.phone)], .starting),
      (.retry(.heartbeat), [.start(.heartbeat)], .starting),
    ],
    "On, blocked": [
      (.shutDown, [], .stopped),
      (.choose(.off), [.persist(.init(runOnlyWhileCharging: true)), .log(.chosen(.off))], .stopped),
      (
        .choose(.bluetoothLocal),
        [.persist(.init(mode: .bluetoothLocal, runOnlyWhileCharging: true)), .log(.chosen(.bluetoothLocal))],
        .blocked(.notCharging)
      ),
      (
        .setRunOnlyWhileCharging(false),
        [.persist(.init(mode: .on)), .log(.unblocked), .start(.heartbeat)], .starting
      ),
      (.power(onExternalPower: true), [.log(.unblocked), .start(.heartbeat)], .starting),
      (
        offline,
        [
          .persist(.init(mode: .bluetoothLocal, cause: .networkLoss, runOnlyWhileCharging: true)),
          .log(.downgraded(because: "no carrier")),
        ], .blocked(.notCharging)
      ),
    ],
    "Local, running": [
      (.shutDown, [.stop(.phone)], .stopping),
      (.choose(.off), [.persist(.init()), .log(.chosen(.off)), .stop(.phone)], .stopping),
      (.choose(.on), [.persist(.init(mode: .on)), .log(.chosen(.on)), .stop(.phone)], .stopping),
      (
        .setRunOnlyWhileCharging(true),
        [
          .persist(.init(mode: .bluetoothLocal, runOnlyWhileCharging: true)), .log(.blocked(.powerUnknown)),
          .stop(.phone),
        ], .stopping
      ),
      (
        .ended(.phone, because: nil),
        [.log(.failed(.phone, because: "it ended by itself")), .retryLater(.phone)],
        .failed(because: "it ended by itself")
      ),
    ],
    "Local by itself": [
      (.shutDown, [.stop(.phone)], .stopping),
      (.choose(.off), [.persist(.init()), .log(.chosen(.off)), .stop(.phone)], .stopping),
      // The network is still away: a person may want On, and is told that it cannot be.
      (
        .choose(.on), [.log(.chosen(.on)), .log(.downgraded(because: "no carrier"))], .running
      ),
      (.choose(.bluetoothLocal), [.persist(.init(mode: .bluetoothLocal)), .log(.chosen(.bluetoothLocal))], .running),
      (
        .setRunOnlyWhileCharging(true),
        [
          .persist(.init(mode: .bluetoothLocal, cause: .networkLoss, runOnlyWhileCharging: true)),
          .log(.blocked(.powerUnknown)), .stop(.phone),
        ], .stopping
      ),
      (.networkFound, [.log(.networkReturned), .notify(.networkReturned)], .running),
      (
        .ended(.phone, because: nil),
        [.log(.failed(.phone, because: "it ended by itself")), .retryLater(.phone)],
        .failed(because: "it ended by itself")
      ),
    ],
    "Off, stopping": [
      // What runs ends first.
      (.choose(.on), [.persist(.init(mode: .on)), .log(.chosen(.on))], .stopping),
      (
        .choose(.bluetoothLocal),
        [.persist(.init(mode: .bluetoothLocal)), .log(.chosen(.bluetoothLocal))], .stopping
      ),
      (.setRunOnlyWhileCharging(true), [.persist(.init(runOnlyWhileCharging: true))], .stopping),
      (.ended(.heartbeat, because: nil), [], .stopped), (broken, [], .stopped),
    ],
  ]

  static let events: [Event] = [
    .start, .shutDown, .choose(.off), .choose(.on), .choose(.bluetoothLocal), .setRunOnlyWhileCharging(true),
    .setRunOnlyWhileCharging(false), .networkFound, offline, .power(onExternalPower: true),
    .power(onExternalPower: false), .bluetooth(isAvailable: true), .bluetooth(isAvailable: false),
    .started(.phone), .started(.heartbeat), .ended(.phone, because: nil),
    .ended(.heartbeat, because: nil), broken, .retry(.phone), .retry(.heartbeat),
  ]

  @Test("Every event in every state leads to the actions of the table", arguments: situations)
  func everyEventInEveryState(_ situation: Situation) throws {
    #expect(situation.machine.runState == situation.runState)
    let rows = try #require(Self.rows[situation.name])
    for event in Self.events {
      var machine = situation.machine
      let actions = machine.handle(event)
      let row = rows.first { $0.event == event }
      #expect(actions == row?.actions ?? [], "\(event)")
      #expect(machine.runState == row?.runState ?? situation.runState, "\(event)")
    }
    #expect(rows.allSatisfy { row in Self.events.contains(row.event) })
  }
}
