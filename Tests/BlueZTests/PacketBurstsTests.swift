import Testing

@testable import BlueZ

@Suite struct PacketBurstsTests {
  /// Feeds packets at a distance, and reads them when it is time.
  /// - Returns: how often was read, and how many packets had to wait.
  private func run(_ packets: Int, every gap: Int64, answering: Bool = false) -> (reads: Int, late: Int) {
    var (bursts, now, due, waiting, reads, late) = (PacketBursts(), Int64(0), Int64.min, 0, 0, 0)
    func read(at now: Int64) {
      bursts.read(waiting, at: now)
      (due, waiting, reads) = (bursts.isGathering ? now + PacketBursts.rest : .min, 0, reads + 1)
    }
    for _ in 0..<packets {
      now += gap
      if waiting > 0, now >= due { read(at: due) }
      waiting += 1
      guard now < due else {
        read(at: now)
        continue
      }
      late += 1
      // Who answers each packet gets no other before.
      if answering {
        now = due
        read(at: now)
      }
    }
    return (reads, late)
  }

  @Test func aStreamIsLetGather() {
    let (reads, late) = run(1000, every: 500_000)
    #expect(reads < 300 && late > 700)
  }

  @Test func aPacketThatComesAloneDoesNotWait() {
    #expect(run(1000, every: 2_000_000).late == 0)
  }

  @Test func whoAnswersEachPacketSeldomWaits() {
    #expect(run(1000, every: 1_000_000, answering: true).late < 120)
  }
}
