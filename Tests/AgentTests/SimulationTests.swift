import Foundation
import SystemTesting
import Testing

@Suite("Simulated days of an agent", .timeLimit(.minutes(10)))
struct SimulationTests {
  /// `EDGEBLUE_SEEDS="17 17"` plays one again, `"1 1000"` many.
  @Test("Simulated days break no guarantee") func noPromiseIsBroken() async throws {
    // Beside the tests, also of a build with a sanitizer.
    let folder = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    let seeds = ProcessInfo.processInfo.environment["EDGEBLUE_SEEDS"] ?? "1 6"
    let program = try ChildProcess(
      folder.appending(path: "agent-simulation").path, seeds.split(separator: " ").map(String.init))
    let outcome = await program.outcome()
    #expect(outcome.status == 0, "\(outcome.output)")
  }
}
