import Testing

@testable import BlueZ

@Suite("Bursts of packets") struct PacketBurstsTests {
  /// Sends packets at a distance, and reads them when the socket does not rest.
  /// - Parameter answering: `true` if the next packet comes only after the last one was read.
  /// - Returns: The number of readings, and the number of packets that had to wait.
  private func run(_ packets: Int, every gap: Int64, answering: Bool = false) -> (readings: Int, late: Int) {
    var bursts = PacketBursts()
    var now = Int64(0)
    var restUntil = Int64.min
    var readings = 0
    var late = 0
    var waiting = 0
    func read() {
      bursts.read(waiting, at: now)
      waiting = 0
      readings += 1
      restUntil = bursts.rests ? now + Int64(PacketBursts.rest) : .min
    }
    for _ in 0..<packets {
      let next = now + gap
      if waiting > 0, restUntil <= next {
        now = restUntil
        read()
      }
      now = max(now, next)
      waiting += 1
      guard restUntil > now else {
        read()
        continue
      }
      late += 1
      if answering {
        now = restUntil
        read()
      }
    }
    return (readings, late)
  }

  @Test("Packets that arrive fast are read several at once") func aStreamIsReadSeveralAtOnce() {
    let (readings, late) = run(1000, every: 1_000_000)
    #expect(readings < 250)
    #expect(late > 750)
  }

  @Test("A socket that holds many packets does not rest") func aLargeReadingIsFollowedByAnother() {
    var bursts = PacketBursts()
    bursts.read(1, at: 0)
    bursts.read(PacketBursts.enough, at: 1_000_000)
    #expect(bursts.rests)
    bursts.read(PacketBursts.large, at: 2_000_000)
    #expect(!bursts.rests)
    bursts.read(PacketBursts.large - 1, at: 3_000_000)
    #expect(bursts.rests)
  }

  @Test("A single packet does not wait") func aPacketThatComesAloneDoesNotWait() {
    #expect(run(1000, every: 7_500_000).late == 0)
  }

  @Test("A program that responds to each packet seldom waits") func whoAnswersEachPacketSeldomWaits() {
    #expect(run(1000, every: 1_000_000, answering: true).late < 120)
  }
}
