import DeterministicTesting
import Foundation
import SystemTesting
import Testing

/// Years of the schedule in seconds, on a simulated clock.
@Suite("The schedule, simulated", .computing, .timeLimit(.minutes(30))) struct SendingSimulationTests {
  /// The hours of each simulation: 2,000 by default.
  private static let hours = ProcessInfo.processInfo.environment["EDGEBLUE_HOURS"].flatMap { Int64($0) } ?? 2000

  @Test("An undisturbed sender runs every 69.3 minutes on average, with 6.3 ticks per run") func theMeanInterval()
    throws
  {
    var random = SeededGenerator(seed: 3)
    var play = SchedulePlay()
    play.handle(.started)
    var starts: [Double] = []
    var ticks = 0
    let end = play.now + max(Self.hours, 20_000) * 3600
    while play.now < end {
      play.draw = .random(in: 0..<1, using: &random)
      play.now += try #require(play.timers.last).components.seconds
      ticks += 1
      let before = play.posts
      play.handle(.ticked)
      if play.posts > before { starts.append(Double(play.now) / 60) }
    }
    let intervals = zip(starts.dropFirst(), starts).map { $0 - $1 }.sorted()
    let mean = intervals.reduce(0, +) / Double(intervals.count)
    print("\(starts.count) runs, \(ticks) ticks: every \(mean) minutes on average")
    #expect(abs(mean - 69.3) < 0.4)
    #expect(abs(intervals[intervals.count / 2] - 65.9) < 0.6)
    #expect(abs(intervals[intervals.count * 95 / 100] - 89.0) < 1.5)
    #expect(abs(Double(ticks) / Double(starts.count) - 6.3) < 0.15)
    #expect(intervals[0] >= 60)
  }

  @Test("Jumping clocks, suspends, errors, restarts and kills: never above the rate, and an owed run is never lost")
  func theRateUnderFaults() {
    for seed in 1...20 as ClosedRange<UInt64> {
      var life = SenderLife(seed: seed)
      life.live(hours: Self.hours / 20 + 1)
      #expect(life.faults == [], "seed \(seed)")
      #expect(life.completed > Int(Self.hours / 20) / 3, "seed \(seed): it hardly ever sends")
    }
  }

  /// A test that cannot fail proves nothing: the same life under a schedule with a fault in it.
  @Test("The simulation finds a sender that forgets its last run, and one that loses an owed run") func plantedFaults()
  {
    var forgetful = SenderLife(seed: 1)
    forgetful.onRestart = { $0.lastRun = nil }
    forgetful.live(hours: 500)
    #expect(forgetful.faults.contains { $0.contains("more than 2 messages") })
    var careless = SenderLife(seed: 1)
    careless.onRestart = { $0.isPending = false }
    careless.live(hours: 500)
    #expect(careless.faults.contains { $0.contains("lost") })
  }
}
