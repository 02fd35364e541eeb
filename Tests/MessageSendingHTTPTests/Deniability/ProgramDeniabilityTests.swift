import Foundation
import Testing

/// The real program, traced: what it does is the same whatever its queue contains.
@Suite(
  "Deniability of the program",
  .enabled(if: ObservedProgram.isPossible, "needs strace, the right to trace, and the command: swift build"),
  .timeLimit(.minutes(60)))
struct ProgramDeniabilityTests {
  /// The runs for each number of messages; the specification's number is 50.
  private static let runs = ProcessInfo.processInfo.environment["EDGEBLUE_TRACES"].flatMap { Int($0) } ?? 1

  @Test("System calls, log lines, files, inodes and packets are equal for 0, 1 and 8 messages")
  func tracesAreEqual() async throws {
    let program = try await ObservedProgram()
    let silent = try await program.run(messages: 0)
    let outcomes = ["start, done 200 200", "skipped", "done 200 200", "failed 503 503", "failed 200 503", "done 200"]
    #expect(Set(silent.parts.keys) == Set(outcomes))
    #expect(silent.parts.values.allSatisfy { $0.count == 1 }, "the same outcome always has the same calls")
    #expect(silent.packets.count == 1)
    #expect(silent.bodies == [0, 1, 2, 2, 2, 5, 5, 7, 8])
    for round in 0..<Self.runs {
      for messages in [0, 1, 8] where round > 0 || messages > 0 {
        let busy = try await program.run(messages: messages)
        #expect(busy == silent, "\(messages) messages, run \(round)")
      }
    }
    print("\(Self.runs) runs each with 0, 1 and 8 messages; outcomes: \(silent.parts.keys.sorted())")
    let run = silent.parts["done 200 200"]?.first
    print("a run: \(run?.disk.count ?? 0) calls on the disk, \(run?.network.count ?? 0) on the network")
  }

  @Test("A planted leak is found", arguments: SystemCallTrace.Leak.allCases)
  func plantedLeaksAreFound(leak: SystemCallTrace.Leak) async throws {
    let program = try await ObservedProgram()
    let silent = try await program.run(messages: 0)
    #expect(try await program.run(messages: 8, planting: leak) != silent)
  }
}
