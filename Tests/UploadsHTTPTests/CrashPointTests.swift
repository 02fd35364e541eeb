import Foundation
import SystemTesting
import Testing
import Timing

/// The program as it was built, killed at single calls of the kernel: as it makes something last, as it writes to the
/// queue, as it sends a body, as it removes a file.
@Suite(
  "The built program, killed at single system calls",
  .enabled(if: SeaweedFS.isThere, "needs SeaweedFS: scripts/python-peers"),
  .enabled(if: Program.isThere, "needs the command: swift build"),
  .enabled(if: SystemCallKill.isPossible, "needs strace, and leave to trace"), .timeLimit(.minutes(20)))
struct CrashPointTests {
  private static let calls = ["fdatasync", "pwrite64", "write", "unlink"]
  private static let usual = [
    SystemCallKill(at: "fdatasync", number: 1), SystemCallKill(at: "pwrite64", number: 5),
    SystemCallKill(at: "write", number: 3), SystemCallKill(at: "unlink", number: 1),
  ]

  /// `EDGEBLUE_CRASH_POINTS=50` kills it at the first fifty of each call.
  @Test("A kill at any system call loses and duplicates nothing") func whateverItWasDoingNothingIsLostOrDoubled()
    async throws
  {
    let wanted = ProcessInfo.processInfo.environment["EDGEBLUE_CRASH_POINTS"].flatMap(Int.init)
    let kills = wanted.map { count in
      (1...max(count, 1)).flatMap { number in Self.calls.map { SystemCallKill(at: $0, number: number) } }
    }
    let server = try await SeaweedFS.running()
    let seed = UInt64.random(in: 1...1_000_000)
    let uploads = try KilledProgram("crashes", seed: seed, server, FaultProxy(before: server.port))
    var killed: [String: Int] = [:]
    for (life, kill) in (kills ?? Self.usual).enumerated() {
      try uploads.queue(3, life: life)
      let program = try uploads.start(under: ["strace"] + kill.arguments)
      // A call that it does not make so often kills nobody.
      let survived = Task {
        while try !uploads.store.items(in: [.waiting, .uploading, .delivered]).isEmpty {
          try await Task.sleep(for: .milliseconds(20), clock: .steady)
        }
        program.signal(SIGTERM)
      }
      if await program.outcome().status != 0 { killed[kill.call, default: 0] += 1 }
      survived.cancel()
      _ = await survived.result
      try await uploads.nothingIsGoneEarly()
    }
    try await uploads.finish()
    #expect(Set(killed.keys) == Set(Self.calls), "killed \(killed), seed \(seed)")
    print("killed at \(killed), seed \(seed)")
  }
}
