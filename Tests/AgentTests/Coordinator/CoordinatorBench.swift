import Foundation
import Timing

@testable import Agent

/// A machine, and the time it is.
struct CoordinatorBench {
  var machine: CoordinatorMachine
  var now: Duration = .zero

  init(_ session: CoordinatorSession = CoordinatorSession(), policy: AssignmentPolicy = .flowChart(FlowChart())) {
    machine = CoordinatorMachine(session, agentID: "a", policy: policy)
  }

  mutating func on(_ event: CoordinatorMachine.Event, after: Duration = .zero) -> [CoordinatorMachine.Action] {
    now += after
    return machine.handle(event, at: now, random: 0)
  }

  mutating func hear(
    _ call: CoordinatorMachine.Call, _ status: Int, _ text: String, after: Duration = .milliseconds(10)
  ) -> [CoordinatorMachine.Action] {
    on(.ended(call, .answer(CoordinatorAnswer(status: status, body: Data(text.utf8)))), after: after)
  }

  /// Waits until something is due.
  mutating func wait() -> [CoordinatorMachine.Action] {
    guard let wake = machine.wakeAt else { return [] }
    now = max(now, wake)
    return on(.tick)
  }

  /// Registered, with a heartbeat taken, and a model.
  mutating func connect() {
    _ = on(.start)
    _ = on(.model(CoordinatorModel(isReady: true)))
    _ = hear(.register, 200, #"{"accepted":true,"meshToken":"t"}"#)
    _ = hear(.heartbeat, 200, #"{"ok":true}"#)
  }
}

extension [CoordinatorMachine.Action] {
  var calls: [CoordinatorMachine.Call] {
    compactMap { if case .send(let call, _) = $0 { call } else { nil } }
  }
  var kept: ResultRequest? {
    lazy.compactMap { if case .keep(let entry) = $0 { entry.result } else { nil } }.first
  }
}
