import Testing

@testable import NetworkPath

@Suite("Settle times") struct SettlingTests {
  private let start = ContinuousClock.now
  private let good = Say.path(Say.wired)
  private let bad = Say.path([Say.lo, Say.link(2, "eth0", isUp: false)])
  private let other = Say.path(Say.wired + [Say.address(2, "192.0.2.3")])

  private func at(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

  /// A machine that has told of a path at 0.
  private func settled(_ path: PathSnapshot) -> Held<Settling> {
    let settling = Held(Settling(down: .milliseconds(150), up: .milliseconds(500)))
    settling.value.offer(path, at: start)
    #expect(settling { $0.takeDue(at: start) }?.path == path)
    return settling
  }

  @Test("The first path is published at once, and only once") func theFirstPathIsToldAtOnceAndOnce() {
    let settling = settled(good)
    #expect(settling.value.deadline == nil)
    #expect(settling { $0.takeDue(at: at(10_000)) } == nil)
  }

  @Test("A loss is published after the settle time `down`") func aLossIsToldAfterTheSettleTimeDown() {
    let settling = settled(good)
    settling.value.offer(bad, at: at(1000))
    #expect(settling.value.deadline == at(1150))
    #expect(settling { $0.takeDue(at: at(1149)) } == nil)
    #expect(settling { $0.takeDue(at: at(1150)) }?.path == bad)
  }

  @Test("A loss that is reverted in time is counted and not published") func aLossThatDoesNotLastIsCountedAndNotTold() {
    let settling = settled(good)
    settling.value.offer(bad, at: at(1000))
    settling.value.offer(good, at: at(1100))
    #expect(settling.value.deadline == nil)
    settling.value.offer(bad, at: at(2000))
    let told = settling { $0.takeDue(at: at(2150)) }
    #expect(told?.path == bad)
    #expect(told?.transients == 1)
    #expect(settling.value.transients == 0)
  }

  @Test("A return of the network is published after the settle time `up` without a break")
  func aReturnMustLastWithoutABreak() {
    let settling = settled(bad)
    for moment in stride(from: 1000, to: 5000, by: 400) {
      settling.value.offer(good, at: at(moment))
      #expect(settling { $0.takeDue(at: at(moment + 300)) } == nil)
      settling.value.offer(bad, at: at(moment + 300))
    }
    settling.value.offer(good, at: at(5000))
    #expect(settling.value.deadline == at(5500))
    #expect(settling { $0.takeDue(at: at(5500)) }?.path == good)
  }

  @Test("Changed details do not delay the return of the network") func detailsThatComeWhileItReturnsDoNotDelayIt() {
    let settling = settled(bad)
    settling.value.offer(good, at: at(1000))
    settling.value.offer(other, at: at(1400))
    #expect(settling { $0.takeDue(at: at(1500)) }?.path == other)
  }

  @Test("Another route is published as fast as a loss") func anotherWayOutIsToldAsFastAsALoss() {
    let settling = settled(good)
    settling.value.offer(other, at: at(1000))
    #expect(settling { $0.takeDue(at: at(1150)) }?.path == other)
  }

  /// What was told last is gone for good, and what took its place comes and goes: silence would be a lie.
  @Test("Flapping between other paths does not hide that the published one is gone")
  func flappingBetweenOthersDoesNotHideThatTheOldPathIsGone() {
    let settling = settled(good)
    settling.value.offer(other, at: at(1000))
    settling.value.offer(bad, at: at(1050))
    settling.value.offer(other, at: at(1100))
    settling.value.offer(bad, at: at(1140))
    #expect(settling { $0.takeDue(at: at(1150)) }?.path == bad)
  }

  @Test("Without settle times every change is published at once") func withoutSettleTimesEverythingIsToldAtOnce() {
    let settling = Held(Settling(down: .zero, up: .zero))
    for (moment, path) in [good, bad, other, bad, good].enumerated() {
      settling.value.offer(path, at: at(moment))
      #expect(settling { $0.takeDue(at: at(moment)) }?.path == path)
    }
  }
}
