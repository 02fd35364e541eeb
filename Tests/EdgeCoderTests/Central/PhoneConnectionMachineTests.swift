import Testing

@testable import EdgeCoder

// So that the tables below read as reasons.
extension PhoneConnectionFailure: ExpressibleByStringLiteral {
  /// Creates a failure of the code `failed`.
  init(stringLiteral message: String) { self.init(.failed, message) }
}

@Suite("The state machine of a connection to a phone") struct PhoneConnectionMachineTests {
  private func machine(_ change: (inout CentralConfiguration) -> Void = { _ in }) -> PhoneConnectionMachine {
    var configuration = CentralConfiguration()
    change(&configuration)
    return PhoneConnectionMachine(configuration.reconnection)
  }

  /// Brings a machine into a state.
  private func machine(in state: PhoneConnectionState) -> PhoneConnectionMachine {
    var machine = machine()
    let path: [PhoneConnectionState: [PhoneConnectionMachine.Event]] = [
      .discovered: [], .connecting: [.start], .subscribing: [.start, .connected],
      .ready: [.start, .connected, .subscribed], .waiting: [.start, .failed("x")], .stopped: [.stop("s")],
    ]
    for event in path[state] ?? [] { _ = machine.handle(event, at: .zero, random: 0.5) }
    return machine
  }

  private static let half = PhoneConnectionMachine.Action.wait(.milliseconds(500))
  private static let stop: [PhoneConnectionMachine.Action] = [.failPending("s"), .disconnect]

  /// Every transition there is; everything else changes nothing.
  private static let table:
    [PhoneConnectionState: [(PhoneConnectionMachine.Event, PhoneConnectionState, [PhoneConnectionMachine.Action])]] = [
      .discovered: [(.start, .connecting, [.connect]), (.stop("s"), .stopped, stop)],
      .connecting: [
        (.connected, .subscribing, [.subscribe]), (.failed("r"), .waiting, [half]), (.stop("s"), .stopped, stop),
      ],
      .subscribing: [
        (.subscribed, .ready, [.serve]), (.failed("r"), .waiting, [.failPending("r"), .disconnect, half]),
        (.stop("s"), .stopped, stop),
      ],
      .ready: [(.failed("r"), .waiting, [.failPending("r"), .disconnect, half]), (.stop("s"), .stopped, stop)],
      .waiting: [(.retry, .connecting, [.connect]), (.stop("s"), .stopped, stop)],
      .stopped: [],
    ]

  @Test("The state machine follows the table", arguments: PhoneConnectionState.allCases) func followsTheTable(
    state: PhoneConnectionState
  ) throws {
    let events: [PhoneConnectionMachine.Event] = [.start, .connected, .subscribed, .failed("r"), .retry, .stop("s")]
    for event in events {
      var machine = machine(in: state)
      try #require(machine.state == state)
      let actions = machine.handle(event, at: .zero, random: 0.5)
      if let row = Self.table[state]?.first(where: { $0.0 == event }) {
        #expect(machine.state == row.1, "\(state) + \(event)")
        #expect(actions == row.2, "\(state) + \(event)")
      } else {
        #expect(machine.state == state, "\(state) + \(event)")
        #expect(actions.isEmpty, "\(state) + \(event)")
      }
    }
  }

  @Test("The delays double up to the limit") func thePausesDoubleUpToTheCap() {
    var machine = machine { $0.reconnection.attemptLimit = 100 }
    _ = machine.handle(.start, at: .zero, random: 0.5)
    let pauses = (1...9).map { _ -> PhoneConnectionMachine.Action? in
      let actions = machine.handle(.failed("x"), at: .zero, random: 0.5)
      _ = machine.handle(.retry, at: .zero, random: 0.5)
      return actions.last
    }
    let expected: [Double] = [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    #expect(pauses == expected.map { .wait(.seconds($0)) })
  }

  @Test("A stable connection reconnects after the shortest delay") func aLinkThatHeldStartsAgainWithTheShortestPause() {
    for (held, pause) in [(Duration.milliseconds(4999), Duration.seconds(2)), (.seconds(5), .milliseconds(500))] {
      var machine = machine()
      for event in [.start, .failed("x"), .retry, .failed("x"), .retry, .connected, .subscribed]
        as [PhoneConnectionMachine.Event]
      {
        _ = machine.handle(event, at: .seconds(1), random: 0.5)
      }
      #expect(machine.handle(.failed("x"), at: .seconds(1) + held, random: 0.5).last == .wait(pause))
    }
  }

  @Test("The last failed attempt stops the phone") func givesUpAfterTheLastAttempt() {
    var machine = machine { $0.reconnection.attemptLimit = 2 }
    _ = machine.handle(.start, at: .zero, random: 0.5)
    _ = machine.handle(.failed("first"), at: .zero, random: 0.5)
    _ = machine.handle(.retry, at: .zero, random: 0.5)
    #expect(machine.handle(.failed("second"), at: .zero, random: 0.5) == [.failPending("second"), .disconnect])
    #expect(machine.state == .stopped)
    #expect(machine.failure == "second")
  }

  @Test("The jitter stays within a tenth") func theJitterStaysWithinATenth() {
    let backoff = CentralConfiguration.Reconnection().backoff
    for failures in [0, 1, 3, 7, 64, Int.max] {
      let middle = backoff.delay(afterFailures: failures, random: 0.5)
      #expect(middle >= .milliseconds(500))
      #expect(middle <= .seconds(30))
      #expect(backoff.delay(afterFailures: failures, random: 0) == middle * 0.9)
      #expect(backoff.delay(afterFailures: failures, random: 1) == middle * 1.1)
      #expect(backoff.delay(afterFailures: failures, random: 50) == middle * 1.1)
    }
  }
}
