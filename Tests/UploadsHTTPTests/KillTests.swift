import DeterministicTesting
import Foundation
import Streams
import Testing
import Timing

@Suite(
  "The built program, killed at random moments and restarted",
  .enabled(if: SeaweedFS.isThere, "needs SeaweedFS: scripts/python-peers"),
  .enabled(if: Program.isThere, "needs the command: swift build"), .timeLimit(.minutes(20)))
struct KillTests {
  private enum Day: Sendable {
    case usual
    /// There is no network.
    case cut
    /// The credentials have expired.
    case expired
  }

  /// `EDGEBLUE_KILLS=300` kills it so often, with seven items for each kill; the seed of a run that fails repeats what
  /// was done, not when.
  @Test("Killed at random moments, the uploader stores every object once with the right bytes")
  func everyObjectIsMadeOnceWithTheRightBytes() async throws {
    let environment = ProcessInfo.processInfo.environment
    let kills = environment["EDGEBLUE_KILLS"].flatMap(Int.init) ?? 8
    let seed = environment["EDGEBLUE_SEED"].flatMap(UInt64.init) ?? .random(in: 1...1_000_000)
    print("killed \(kills) times, seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let server = try await SeaweedFS.running()
    let dice = Lock(SeededGenerator(seed: seed))
    let day = Lock(Day.usual)
    let proxy = try FaultProxy(before: server.port) { _, _ in
      switch day.withLock({ $0 }) {
      case .cut: return .refused
      case .expired: return .answer(400, "<Error><Code>ExpiredToken</Code></Error>")
      case .usual: break
      }
      // One request in twenty meets a bad network.
      return switch dice.withLock({ Int.random(in: 0..<80, using: &$0) }) {
      case 0: .refused
      case 1: .lostReply
      case 2: .answer(503, "<Error><Code>SlowDown</Code></Error>")
      case 3: .resetAfter(1000)
      default: .none
      }
    }
    let uploads = try KilledProgram("kills", seed: seed, server, proxy)
    for life in 0..<kills {
      // More is queued while it runs and is killed.
      try uploads.queue(7, life: life)
      let kind = Int.random(in: 0..<10, using: &random)
      day.withLock { $0 = kind == 0 ? .cut : kind == 1 ? .expired : .usual }
      let program = try uploads.start()
      try await Task.sleep(for: .milliseconds(Int.random(in: 20...400, using: &random)), clock: .steady)
      program.kill()
      try await uploads.nothingIsGoneEarly()
    }
    // The last ones are for the life that is not cut short: it has begun when they are done.
    day.withLock { $0 = .usual }
    try uploads.queue(7, life: kills)
    try await uploads.finish()
  }
}
