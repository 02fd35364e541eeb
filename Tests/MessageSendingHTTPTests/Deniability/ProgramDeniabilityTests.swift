import Foundation
import Testing

/// The real program, traced: what it does is the same whatever its queue contains.
@Suite(
  "Deniability of the program",
  .enabled(if: ObservedProgram.isPossible, "needs root, strace, the right to trace, and the command: swift build"),
  .timeLimit(.minutes(120)))
struct ProgramDeniabilityTests {
  /// The lives for each number of messages; the specification's number is 50.
  private static let lives = ProcessInfo.processInfo.environment["EDGEBLUE_TRACES"].flatMap { Int($0) } ?? 1

  @Test("System calls, log lines, files, inodes and packets are equal for 0, 1 and 8 messages")
  func tracesAreEqual() async throws {
    let program = try await ObservedProgram()
    let silent = try await program.live(messages: 0)
    let outcomes = ["start, done 200 200", "skipped", "done 200 200", "failed 503 503", "failed 200 503", "done 200"]
    #expect(Set(silent.parts.keys).union(["skipped"]) == Set(outcomes))
    for (outcome, ways) in silent.parts { #expect(ways.count == 1, "\(outcome) always has the same calls") }
    #expect(silent.requests.count == 1)
    #expect(silent.bodies == [0, 1, 2, 2, 2, 5, 5, 7, 8])
    #expect(silent.writes == Set(silent.requests.map { "sent \($0)" }), "each request leaves in one write")
    for life in 0..<Self.lives {
      for messages in [0, 1, 8] where life > 0 || messages > 0 {
        let busy = try await program.live(messages: messages)
        #expect(busy.differences(from: silent) == [], "\(messages) messages, life \(life)")
      }
    }
    print("\(Self.lives) lives each with 0, 1 and 8 messages; outcomes: \(silent.parts.keys.sorted())")
    let run = silent.parts["done 200 200"]?.first
    print("a run: \(run?.files.count ?? 0) calls on files, \(run?.network.count ?? 0) on the network")
  }

  @Test(
    "A flush after writing, a fresh cover for a retry and a longer request are found",
    arguments: ["flushAfterWriting", "freshCoverForRetry", "longerBody"])
  func plantedLeaksAreFound(fault: String) async throws {
    let program = try await ObservedProgram()
    let silent = try await program.live(.process(fault: fault), messages: 0)
    let busy = try await program.live(.process(fault: fault), messages: 8)
    let differences = busy.differences(from: silent)
    print("\(fault): \(differences)")
    #expect(!differences.isEmpty)
  }

  @Test("The process in which the leaks are planted looks the same without them")
  func withoutLeaksTracesAreEqual() async throws {
    let program = try await ObservedProgram()
    let silent = try await program.live(.process(fault: "none"), messages: 0)
    #expect(silent.parts.keys.contains("stopped"))
    for messages in [1, 8] {
      let busy = try await program.live(.process(fault: "none"), messages: messages)
      #expect(busy.differences(from: silent) == [])
    }
  }
}
