import Foundation
import Testing

/// A process that sends over HTTP, killed at its system calls while messages are queued.
@Suite(
  "A killed sender",
  .enabled(if: KilledSender.isPossible, "needs strace, leave to trace, and the process: swift build"),
  .timeLimit(.minutes(60)))
struct KilledSenderTests {
  /// `EDGEBLUE_KILLS=1000` kills so often.
  private static let kills = ProcessInfo.processInfo.environment["EDGEBLUE_KILLS"].flatMap { Int($0) } ?? 12

  @Test("A kill at any system call loses no message, counts none as sent too early, and doubles only the one in flight")
  func kills() async throws {
    let sender = try KilledSender(seed: .random(in: 1...1_000_000))
    var killed: [String: Int] = [:]
    var round = 0
    while killed.values.reduce(0, +) < Self.kills {
      if let call = try await sender.live(round) { killed[call, default: 0] += 1 }
      try sender.checkQueue(round)
      round += 1
      try #require(round < 60 + 10 * Self.kills, "hardly a kill arrives: \(killed)")
    }
    try await sender.finish(round)
    let result = sender.result
    #expect(result.faults == [], "seed \(sender.seed)")
    #expect(result.messages > Self.kills / 2, "hardly a message was written")
    #expect(result.doubledCovers + result.doubledMessages <= Self.kills)
    // Who is killed between the answer and the record sends the head once more, whatever it is.
    if Self.kills >= 500 { #expect(min(result.doubledCovers, result.doubledMessages) > 0) }
    print("killed at \(killed) in \(round) lives, seed \(sender.seed): \(result)")
  }
}
