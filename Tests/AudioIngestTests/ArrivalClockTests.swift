import DeterministicTesting
import Testing

@testable import AudioIngest

@Suite(.computing) struct ArrivalClockTests {
  /// A day of frames, one in five seconds, from a device whose clock is 100 ppm off; the radio delays each by up to half
  /// a second.
  @Test(arguments: [-100, 0, 100])
  func clocksThatDriftApartAreNoLoss(_ partsPerMillion: Int) {
    var random = SeededGenerator(seed: 3)
    var clock = ArrivalClock(sampleRate: 16_000)
    var missing = 0
    for step in 1...17_280 {
      let sent = Duration.seconds(step * 5) + .microseconds(step * 5 * partsPerMillion)
      let arrived = sent + .milliseconds(Int.random(in: 0..<500, using: &random))
      missing += clock.note(step * 80_000, at: arrived).samples
    }
    #expect(missing == 0)
  }

  @Test(arguments: [Duration.seconds(1), .seconds(40)])
  func whatTheDeviceDroppedIsMissing(_ dropped: Duration) {
    var clock = ArrivalClock(sampleRate: 16_000)
    var (missing, places) = (0, [Int]())
    for frame in 1...3000 {
      let late = frame > 1000 ? dropped : .zero
      // Behind the hole some come in a burst.
      let jitter = Duration.milliseconds((1000...1020).contains(frame) ? 400 : frame % 7)
      let found = clock.note(frame * 320 + missing, at: .milliseconds(frame * 20) + late + jitter)
      if found.samples > 0 { places.append(found.place) }
      missing += found.samples
    }
    #expect(abs(missing - dropped.samples(at: 16_000)) < 320)
    // It is known five seconds later, and for where it was.
    #expect(places == [1000 * 320])
  }

  @Test func aBurstAfterAPauseIsNoLoss() {
    var clock = ArrivalClock(sampleRate: 16_000)
    for frame in 1...2000 {
      // For three seconds nothing comes, and then all of it.
      let instant = (500..<650).contains(frame) ? 650 * 20 : frame * 20
      #expect(clock.note(frame * 320, at: .milliseconds(instant)).samples == 0)
    }
    #expect(clock.instant(of: 16_000) == .seconds(1) + .zero)
  }
}
