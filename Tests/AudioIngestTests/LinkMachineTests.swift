import DeterministicTesting
import Testing
import Timing

@testable import AudioIngest

@Suite(.computing) struct LinkMachineTests {
  private func streaming(at instant: Duration = .zero) -> LinkMachine {
    var machine = LinkMachine(jitter: { 0 })
    _ = machine.handle(.start(isKnown: true), at: instant)
    _ = machine.handle(.connected, at: instant)
    #expect(machine.handle(.subscribed, at: instant) == .stream)
    return machine
  }

  @Test func anUnknownDeviceIsLookedForAKnownOneIsNot() {
    var machine = LinkMachine(jitter: { 0 })
    #expect(machine.handle(.start(isKnown: false), at: .zero) == .search(limit: LinkMachine.searchLimit))
    #expect(machine.handle(.found, at: .zero) == .connect(limit: LinkMachine.connectLimit))
    #expect(machine.handle(.connected, at: .zero) == .subscribe(limit: LinkMachine.subscribeLimit))
    #expect(machine.handle(.failed, at: .zero) == .wait(.seconds(2)))
    // It is remembered.
    #expect(machine.handle(.waited, at: .seconds(2)) == .connect(limit: LinkMachine.connectLimit))
  }

  @Test func pausesGrowAndAreNeverTheSame() {
    for (jitter, factor) in [(-1.0, 0.8), (0, 1), (1, 1.2)] {
      var machine = LinkMachine(jitter: { jitter })
      _ = machine.handle(.start(isKnown: true), at: .zero)
      for seconds in [2, 5, 10, 20, 30, 60, 60, 60] as [Double] {
        guard case .wait(let pause) = machine.handle(.failed, at: .zero) else {
          Issue.record("no pause after a failure")
          return
        }
        #expect(abs(pause.inSeconds - seconds * factor) < 1e-9)
        _ = machine.handle(.waited, at: .zero)
      }
    }
  }

  /// A link that comes and goes keeps its pauses; one that has lasted a minute begins anew.
  @Test(arguments: [(59, 5), (60, 2)]) func onlyAStableStreamForgives(_ seconds: Int, _ pause: Int) {
    var machine = LinkMachine(jitter: { 0 })
    _ = machine.handle(.start(isKnown: true), at: .zero)
    _ = machine.handle(.failed, at: .zero)
    _ = machine.handle(.waited, at: .zero)
    _ = machine.handle(.connected, at: .zero)
    _ = machine.handle(.subscribed, at: .zero)
    for second in 0...seconds { #expect(machine.handle(.arrived, at: .seconds(second)) == .nothing) }
    #expect(machine.handle(.failed, at: .seconds(seconds)) == .wait(.seconds(pause)))
  }

  @Test func aMutedDeviceIsNoDeadLink() {
    var machine = streaming()
    _ = machine.handle(.arrived, at: .seconds(1))
    #expect(machine.handle(.passed, at: .milliseconds(5999)) == .nothing)
    #expect(machine.handle(.passed, at: .seconds(6)) == .probe)
    #expect(machine.handle(.probed(true), at: .seconds(6)) == .nothing && machine.state == .muted)
    // Asked now and then, for as long as it is silent.
    #expect(machine.handle(.passed, at: .seconds(20)) == .nothing)
    #expect(machine.handle(.passed, at: .seconds(21)) == .probe)
    _ = machine.handle(.probed(true), at: .seconds(21))
    #expect(machine.handle(.arrived, at: .seconds(22)) == .nothing && machine.state == .streaming)
    #expect(machine.handle(.passed, at: .seconds(27)) == .probe)
    // It spoke while it was asked.
    _ = machine.handle(.arrived, at: .seconds(27))
    #expect(machine.handle(.probed(true), at: .seconds(28)) == .nothing && machine.state == .streaming)
  }

  @Test func aDeadLinkIsGivenUp() {
    var machine = streaming()
    #expect(machine.handle(.passed, at: .seconds(5)) == .probe)
    #expect(machine.handle(.probed(false), at: .seconds(10)) == .wait(.seconds(2)) && machine.state == .waiting)
    // What the end of the link tells once more changes nothing.
    #expect(machine.handle(.failed, at: .seconds(10)) == .nothing && machine.failures == 1)
  }

  /// Whatever happens in whatever order, it never stands still: each state but the first has something that is done.
  @Test func noOrderOfEventsLosesIt() {
    var random = SeededGenerator(seed: 9)
    let events: [LinkMachine.Event] = [
      .start(isKnown: true), .start(isKnown: false), .found, .connected, .subscribed, .arrived, .passed, .probed(true),
      .probed(false), .failed, .waited,
    ]
    for _ in 0..<200 {
      var machine = LinkMachine()
      var now = Duration.zero
      var doing = LinkMachine.State.idle
      for _ in 0..<300 {
        now += .milliseconds(Int.random(in: 0..<3000, using: &random))
        let before = machine.state
        switch machine.handle(events.randomElement(using: &random)!, at: now) {
        case .nothing: break
        case .search: doing = .searching
        case .connect: doing = .connecting
        case .subscribe: doing = .subscribing
        case .stream: doing = .streaming
        case .probe: #expect(before == .streaming || before == .muted)
        case .wait(let pause):
          doing = .waiting
          #expect(pause >= .seconds(1.6) && pause <= .seconds(72))
        }
        #expect(machine.state == doing || doing == .streaming && machine.state == .muted)
      }
    }
  }
}
