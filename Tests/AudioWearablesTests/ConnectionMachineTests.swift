import DeterministicTesting
import Testing
import Timing

@testable import AudioWearables

@Suite("The state machine of a wearable's connection") struct ConnectionMachineTests {
  private func streaming(at instant: Duration = .zero) -> ConnectionMachine {
    var machine = ConnectionMachine(random: { 0.5 })
    _ = machine.handle(.start(isKnown: true), at: instant)
    _ = machine.handle(.connected, at: instant)
    #expect(machine.handle(.subscribed, at: instant) == [.stream])
    return machine
  }

  @Test("An unknown device is searched for, and a known one is connected at once")
  func anUnknownDeviceIsLookedForAKnownOneIsNot() {
    var machine = ConnectionMachine(random: { 0.5 })
    #expect(machine.handle(.start(isKnown: false), at: .zero) == [.search(timeout: ConnectionMachine.searchTimeout)])
    #expect(machine.handle(.found, at: .zero) == [.connect(timeout: ConnectionMachine.connectTimeout)])
    #expect(machine.handle(.connected, at: .zero) == [.subscribe(timeout: ConnectionMachine.subscribeTimeout)])
    #expect(machine.handle(.failed, at: .zero) == [.wait(.seconds(2))])
    // It is remembered.
    #expect(machine.handle(.waited, at: .seconds(2)) == [.connect(timeout: ConnectionMachine.connectTimeout)])
  }

  @Test("Delays grow and vary by a fifth") func pausesGrowAndAreNeverTheSame() {
    for (random, factor) in [(0.0, 0.8), (0.5, 1), (1, 1.2)] {
      var machine = ConnectionMachine(random: { random })
      _ = machine.handle(.start(isKnown: true), at: .zero)
      for seconds in [2, 5, 10, 20, 30, 60, 60, 60] as [Double] {
        guard case .wait(let pause)? = machine.handle(.failed, at: .zero).first else {
          Issue.record("no pause after a failure")
          return
        }
        #expect(abs(pause.inSeconds - seconds * factor) < 1e-9)
        _ = machine.handle(.waited, at: .zero)
      }
    }
  }

  /// A link that comes and goes keeps its pauses; one that has lasted a minute begins anew.
  @Test("Only a stream of a minute resets the delays", arguments: [(59, 5), (60, 2)]) func onlyAStableStreamForgives(
    _ seconds: Int, _ pause: Int
  ) {
    var machine = ConnectionMachine(random: { 0.5 })
    _ = machine.handle(.start(isKnown: true), at: .zero)
    _ = machine.handle(.failed, at: .zero)
    _ = machine.handle(.waited, at: .zero)
    _ = machine.handle(.connected, at: .zero)
    _ = machine.handle(.subscribed, at: .zero)
    for second in 0...seconds { #expect(machine.handle(.arrived, at: .seconds(second)) == []) }
    #expect(machine.handle(.failed, at: .seconds(seconds)) == [.wait(.seconds(pause))])
  }

  @Test("A muted device that responds stays connected") func aMutedDeviceIsNoDeadLink() {
    var machine = streaming()
    _ = machine.handle(.arrived, at: .seconds(1))
    #expect(machine.handle(.passed, at: .milliseconds(5999)) == [])
    #expect(machine.handle(.passed, at: .seconds(6)) == [.probe])
    #expect(machine.handle(.probed(true), at: .seconds(6)) == [])
    #expect(machine.state == .muted)
    // Asked now and then, for as long as it is silent.
    #expect(machine.handle(.passed, at: .seconds(20)) == [])
    #expect(machine.handle(.passed, at: .seconds(21)) == [.probe])
    _ = machine.handle(.probed(true), at: .seconds(21))
    #expect(machine.handle(.arrived, at: .seconds(22)) == [])
    #expect(machine.state == .streaming)
    #expect(machine.handle(.passed, at: .seconds(27)) == [.probe])
    // It spoke while it was asked.
    _ = machine.handle(.arrived, at: .seconds(27))
    #expect(machine.handle(.probed(true), at: .seconds(28)) == [])
    #expect(machine.state == .streaming)
  }

  @Test("A connection whose device does not respond is given up") func aDeadLinkIsGivenUp() {
    var machine = streaming()
    #expect(machine.handle(.passed, at: .seconds(5)) == [.probe])
    #expect(machine.handle(.probed(false), at: .seconds(10)) == [.wait(.seconds(2))])
    #expect(machine.state == .waiting)
    // What the end of the link tells once more changes nothing.
    #expect(machine.handle(.failed, at: .seconds(10)) == [])
    #expect(machine.failures == 1)
  }

  @Test("Audio that arrives during a probe without a response keeps the connection") func audioIsAResponse() {
    var machine = streaming()
    #expect(machine.handle(.passed, at: .seconds(5)) == [.probe])
    #expect(machine.handle(.arrived, at: .seconds(21)) == [])
    #expect(machine.handle(.probed(false), at: .seconds(25)) == [])
    #expect(machine.state == .streaming)
    #expect(machine.handle(.passed, at: .seconds(26)) == [.probe])
    #expect(machine.handle(.probed(false), at: .seconds(46)) == [.wait(.seconds(2))])
  }

  /// Whatever happens in whatever order, it never stands still: each state but the first has something that is done.
  @Test("The machine has a pending action after any order of events") func noOrderOfEventsLosesIt() {
    var random = SeededGenerator(seed: 9)
    let events: [ConnectionMachine.Event] = [
      .start(isKnown: true), .start(isKnown: false), .found, .connected, .subscribed, .arrived, .passed, .probed(true),
      .probed(false), .failed, .waited,
    ]
    for _ in 0..<200 {
      var machine = ConnectionMachine()
      var now = Duration.zero
      var doing = ConnectionMachine.State.idle
      for _ in 0..<300 {
        now += .milliseconds(Int.random(in: 0..<3000, using: &random))
        let before = machine.state
        switch machine.handle(events.randomElement(using: &random)!, at: now).first {
        case nil: break
        case .search?: doing = .searching
        case .connect?: doing = .connecting
        case .subscribe?: doing = .subscribing
        case .stream?: doing = .streaming
        case .probe?: #expect(before == .streaming || before == .muted)
        case .wait(let pause)?:
          doing = .waiting
          #expect(pause >= .seconds(1.6))
          #expect(pause <= .seconds(72))
        }
        let allowed: Set<ConnectionMachine.State> = doing == .streaming ? [.streaming, .muted] : [doing]
        #expect(allowed.contains(machine.state))
      }
    }
  }
}
