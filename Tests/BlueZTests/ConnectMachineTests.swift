import DBus
import Testing

@testable import BlueZ

@Suite("The connection policy") struct ConnectMachineTests {
  private typealias Machine = ConnectMachine

  private static let refused = BlueZError(.connectFailed, "le-connection-abort-by-local")
  private static let stalled = BlueZError(.timedOut, "reading the services")
  private static let ended = BlueZError(.notConnected, "the link ended")
  private static let down = BlueZError(.serviceUnavailable, "bluetoothd is not there")

  /// Returns the actions for events one second apart, without jitter.
  private func actions(_ options: ConnectOptions, _ events: [Machine.Event]) -> [Machine.Action] {
    var machine = Machine(options)
    return events.enumerated().map { machine.handle($1, at: .seconds($0), random: 0.5) }
  }

  @Test("A direct connection makes the given number of attempts with growing delays")
  func aDirectConnectionTriesAsOftenAsToldAndPausesLonger() {
    let failed = Machine.Event.failed(.connection, Self.refused)
    let options = ConnectOptions.direct(attempts: 3, backoff: .milliseconds(100))
    #expect(
      actions(options, [.start, failed, .due, failed, .due, failed]) == [
        .attempt, .delay(.milliseconds(100)), .attempt, .delay(.milliseconds(200)), .attempt, .finish(Self.refused),
      ])
  }

  @Test("Where the kernel does not begin an attempt, the error says how it does again")
  func anAttemptThatNeverEnds() {
    func error(_ message: String) -> BlueZError {
      let reply = DBusError(name: "org.bluez.Error.Failed", message: message)
      return BlueZError(notConnecting: BlueZError(reply, while: "connecting to 00:AA:01:00:00:00"))
    }
    #expect(error("Input/output error").code == .connectFailed)
    #expect(error("Input/output error").hint?.contains("switch the adapter off and on") == true)
    #expect(error("le-connection-abort-by-local").hint == nil)
  }

  @Test(
    "An error that is not transient ends the attempts",
    arguments: [
      BlueZError.Code.notPermitted, .staleHandle, .serviceUnavailable, .notPowered, .authenticationFailed,
      .notSupported,
    ])
  func whatWillNotPassIsNotTriedAgain(_ code: BlueZError.Code) {
    let error = BlueZError(code, "")
    #expect(actions(.direct(), [.start, .failed(.connection, error)]) == [.attempt, .finish(error)])
  }

  @Test("Services that never appear cause one attempt without the cache") func servicesThatNeverComeAreReadAfreshOnce()
  {
    let failed = Machine.Event.failed(.services, Self.stalled)
    #expect(
      actions(.direct(attempts: 1), [.start, failed, failed]) == [.attempt, .attemptAfresh, .finish(Self.stalled)])
    let lacking = BlueZError(.notSupported, "no such characteristic")
    #expect(
      actions(.direct(attempts: 3), [.start, .failed(.services, lacking), .failed(.services, lacking)])
        == [.attempt, .attemptAfresh, .finish(lacking)])
    // The cache does not cause a connection that ends, or that fails.
    #expect(
      actions(.direct(attempts: 1), [.start, .failed(.services, Self.ended)]) == [.attempt, .finish(Self.ended)])
    #expect(
      actions(.direct(attempts: 1), [.start, .failed(.connection, Self.stalled)]) == [.attempt, .finish(Self.stalled)])
  }

  @Test("A direct connection ends when it is lost") func aDirectConnectionIsOverWithItsLink() {
    #expect(
      actions(.direct(), [.start, .connected, .lost(Self.ended)]) == [.attempt, .watch, .finish(Self.ended)])
  }

  @Test("A kept connection retries without end, at most the longest delay apart")
  func aKeptConnectionPausesUpToTheLongestPauseForEver() {
    var machine = Machine(.keepConnected(backoff: .seconds(1), longestDelay: .seconds(5)))
    #expect(machine.handle(.start, at: .zero, random: 0.5) == .attempt)
    var pauses: [Machine.Action] = []
    for second in 1...40 {
      pauses.append(machine.handle(.failed(.connection, Self.refused), at: .seconds(second), random: 0.5))
      #expect(machine.handle(.due, at: .seconds(second), random: 0.5) == .attempt)
    }
    #expect(Array(pauses.prefix(4)) == [1, 2, 4, 5].map { .delay(.seconds($0)) })
    #expect(pauses.last == .delay(.seconds(5)))
  }

  @Test("A stable connection resets the count of failures") func aLinkThatHeldForgivesTheFailuresBeforeIt() {
    for (held, pause) in [(Machine.stableAfter, 1), (.seconds(9), 4)] {
      var machine = Machine(.keepConnected(backoff: .seconds(1)))
      _ = machine.handle(.start, at: .zero, random: 0.5)
      for _ in 0..<2 { _ = machine.handle(.failed(.connection, Self.refused), at: .zero, random: 0.5) }
      #expect(machine.handle(.connected, at: .zero, random: 0.5) == .watch)
      #expect(machine.handle(.lost(Self.ended), at: held, random: 0.5) == .delay(.seconds(pause)))
    }
  }

  @Test("A kept connection waits for the adapter without a busy loop")
  func aKeptConnectionWaitsForTheAdapterAndDoesNotSpin() {
    let failed = Machine.Event.failed(.search, Self.down)
    #expect(
      actions(.keepConnected(backoff: .seconds(1)), [.start, failed, .due, failed, .due, failed]) == [
        .attempt, .waitForAdapter, .attempt, .delay(.seconds(1)), .attempt, .waitForAdapter,
      ])
  }

  @Test("The jitter of a delay is at most one eighth") func pausesDifferByAnEighth() {
    for (random, expected) in [(0.0, 875), (1.0, 1125)] {
      var machine = Machine(.keepConnected(backoff: .seconds(1)))
      #expect(
        machine.handle(.failed(.connection, Self.refused), at: .zero, random: random) == .delay(.milliseconds(expected))
      )
    }
  }
}
