import Testing

@testable import SystemState

@Suite("The state machine of the lifecycle") struct LifecycleMachineTests {
  /// The published update as `number phase reason`, if one is.
  private func published(_ machine: inout LifecycleMachine, _ event: LifecycleMachine.Event) -> String? {
    for case .publish(let update) in machine.handle(event) {
      return "\(update.number) \(update.snapshot.phase) \(update.snapshot.reason.rawValue)"
    }
    return nil
  }

  @Test("Without a choice the session decides the phase") func theSessionDecides() {
    var machine = LifecycleMachine(choice: .auto)
    let steps: [(LifecycleMachine.Event, String?)] = [
      // Nothing is published before the session is known.
      (.sleep(true), nil), (.sleep(false), nil), (.session(nil), "1 foreground headless"),
      (.session(LoginSession(isActive: true)), "2 foreground active"),
      (.session(LoginSession(isActive: true)), nil),
      (.session(LoginSession(isActive: true, isIdle: true)), "3 background idle"),
      (.session(LoginSession(isActive: true, isLocked: true, isIdle: true)), "4 background locked"),
      (.session(LoginSession(isActive: false, isLocked: true, isIdle: true)), "5 background inactive"),
      (.logindGone, "6 foreground headless"), (.logindGone, nil),
    ]
    for (event, expected) in steps {
      let published = published(&machine, event)
      #expect(published == expected, "\(event)")
    }
  }

  @Test("The user's choice holds until they choose auto") func aPersonsChoiceHoldsUntilTheySayAuto() {
    var machine = LifecycleMachine(choice: .background)
    let steps: [(LifecycleMachine.Event, String?)] = [
      (.choose(.background), nil), (.session(LoginSession(isActive: true)), "1 background person"),
      (.session(LoginSession(isActive: false)), nil), (.choose(.foreground), "2 foreground person"),
      // No choice keeps the host awake; it holds again afterwards.
      (.sleep(true), "3 suspending sleep"), (.choose(.background), "4 suspending sleep"),
      (.sleep(false), "5 background person"), (.choose(.auto), "6 background inactive"),
      (.sleep(true), "7 suspending sleep"),
      // No logind would ever report that the sleep is over.
      (.logindGone, "8 foreground headless"),
    ]
    for (event, expected) in steps {
      let published = published(&machine, event)
      #expect(published == expected, "\(event)")
    }
  }

  @Test("Each reason has a text of its own") func theReasonsInWords() {
    #expect(Set(LifecycleReason.allCases.map(\.description)).count == LifecycleReason.allCases.count)
    #expect(LifecycleReason.headless.description == "there is no session to follow")
  }
}
