import Testing

@testable import BlueZ

@Suite struct PacketBurstsTests {
  /// Feeds packets at a distance, and wakes the reader when it is time.
  /// - Returns: how often it was woken, and how many packets had to wait.
  private func run(_ packets: Int, every gap: Int64, answering: Bool = false) -> (wakeUps: Int, late: Int) {
    var (bursts, now, due, wakeUps, late) = (PacketBursts(), Int64(0), Int64.max, 0, 0)
    func tell() {
      bursts.told()
      (due, wakeUps) = (.max, wakeUps + 1)
    }
    for _ in 0..<packets {
      now += gap
      if now >= due { tell() }
      bursts.read(1, at: now)
      guard bursts.isGathering else {
        tell()
        continue
      }
      late += 1
      if due == .max { due = now + Int64(PacketBursts.patience) }
      // Who answers each packet gets no other before.
      if answering {
        now = due
        tell()
      }
    }
    return (wakeUps, late)
  }

  @Test func aStreamIsLetGather() {
    let (wakeUps, late) = run(1000, every: 1_000_000)
    #expect(wakeUps < 250 && late > 750)
  }

  @Test func aPacketThatComesAloneDoesNotWait() {
    #expect(run(1000, every: 7_500_000).late == 0)
  }

  @Test func whoAnswersEachPacketSeldomWaits() {
    #expect(run(1000, every: 1_000_000, answering: true).late < 120)
  }
}
