import DeterministicTesting
import SystemTesting
import Testing

@testable import AudioIngest

@Suite("The timeline", .computing) struct TimelineTests {
  /// A day of frames, one in five seconds, from a device whose clock is 100 ppm off; the radio delays each by up to half
  /// a second.
  @Test("Clocks that drift apart cause no loss", arguments: [-100, 0, 100])
  func clocksThatDriftApartAreNoLoss(_ partsPerMillion: Int) {
    var random = SeededGenerator(seed: 3)
    var timeline = Timeline(sampleRate: 16_000)
    var missing = 0
    for step in 1...17_280 {
      let sent = Duration.seconds(step * 5) + .microseconds(step * 5 * partsPerMillion)
      let arrived = sent + .milliseconds(Int.random(in: 0..<500, using: &random))
      timeline.decode(80_000)
      missing += timeline.arrived(at: arrived)?.samples ?? 0
    }
    #expect(missing == 0)
  }

  @Test("Audio that the device dropped is found where it is missing", arguments: [Duration.seconds(1), .seconds(40)])
  func whatTheDeviceDroppedIsMissing(_ dropped: Duration) {
    var timeline = Timeline(sampleRate: 16_000)
    var places: [Int] = []
    for frame in 1...3000 {
      let late = frame > 1000 ? dropped : .zero
      // Behind the hole some come in a burst.
      let jitter = Duration.milliseconds((1000...1020).contains(frame) ? 400 : frame % 7)
      timeline.decode(320)
      guard let shortfall = timeline.arrived(at: .milliseconds(frame * 20) + late + jitter) else { continue }
      places.append(shortfall.position)
      timeline.fill(shortfall.samples)
    }
    #expect(abs(timeline.missing - dropped.samples(at: 16_000)) < 320)
    // It is known five seconds later, and for where it was.
    #expect(places == [1000 * 320])
  }

  @Test("A burst of packets after a pause is not a loss") func aBurstAfterAPauseIsNoLoss() {
    var timeline = Timeline(sampleRate: 16_000)
    for frame in 1...2000 {
      // For three seconds nothing comes, and then all of it.
      let instant = (500..<650).contains(frame) ? 650 * 20 : frame * 20
      timeline.decode(320)
      #expect(timeline.arrived(at: .milliseconds(instant)) == nil)
    }
    #expect(timeline.instant(of: 16_000) == .seconds(1) + .zero)
  }
}
