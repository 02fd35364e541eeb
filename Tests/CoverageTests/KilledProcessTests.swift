import Foundation
import SystemTesting
import Testing

/// Kills at single calls of the kernel, of a process that stores fences and of one that sends them.
@Suite(
  "Processes killed at single system calls",
  .enabled(if: CoverageProcess.isThere, "needs coverage-process: swift build"),
  .enabled(if: SystemCallKill.isPossible, "needs strace, and leave to trace"), .timeLimit(.minutes(20)))
struct KilledProcessTests {
  private let folder: TemporaryFolder
  private var store: String { folder.path + "/c.sqlite" }
  private var server: String { folder.path + "/server" }

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.path + "/server", withIntermediateDirectories: true)
  }

  /// `EDGEBLUE_CRASH_POINTS=30` kills them at the first thirty calls of each kind.
  private static let kills: [SystemCallKill] = {
    let wanted = ProcessInfo.processInfo.environment["EDGEBLUE_CRASH_POINTS"].flatMap(Int.init)
    guard let count = wanted else {
      return [
        ("link", 1), ("pwrite64", 4), ("fdatasync", 2), ("write", 3), ("unlink", 1), ("link", 2), ("pwrite64", 11),
        ("fdatasync", 7), ("write", 6), ("unlink", 2),
      ].map { SystemCallKill(at: $0, number: $1) }
    }
    return (1...max(count, 1)).flatMap { number in
      ["link", "pwrite64", "fdatasync", "write", "unlink"].map { SystemCallKill(at: $0, number: number) }
    }
  }()

  /// The numbers of the fences in the results that the server has taken, of each result.
  private func taken() throws -> [Int] {
    let names = try FileManager.default.contentsOfDirectory(atPath: server).filter { !$0.hasPrefix("new-") }
    return try names.flatMap { name in
      let data = try Data(contentsOf: URL(filePath: server + "/" + name))
      let result = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
      let fences = try #require(result["fences"] as? [[String: Any]])
      return fences.compactMap { fence in
        ((fence["location"] as? [String: Any])?["latitude"] as? Double).map { Int(($0 * 1000).rounded()) }
      }
    }
  }

  @Test("Every fence that was stored is delivered, and none twice, whatever the call at which a process is killed")
  func kills() async throws {
    var stored: Set<Int> = []
    var killed: [String: Int] = [:]
    for (life, kill) in Self.kills.enumerated() {
      let words = ["measure", store, "life-\(life)", "\(1 + life * 9)", "9"]
      let measured = try await CoverageProcess.run(words, kill)
      stored.formUnion(measured.numbers(after: "stored "))
      let sent = try await CoverageProcess.run(["send", store, server], kill)
      for outcome in [measured, sent] where outcome.wasKilled { killed[kill.call, default: 0] += 1 }
      // One that lives on has no error, whatever the one before has left.
      for outcome in [measured, sent] where !outcome.wasKilled { #expect(outcome.status == 0, "\(outcome.output)") }
    }
    let last = try await CoverageProcess.run(["send", store, server])
    #expect(last.status == 0, "\(last.output)")
    let taken = try taken()
    #expect(
      Set(taken).count == taken.count, "twice: \(Dictionary(grouping: taken) { $0 }.filter { $1.count > 1 }.keys)")
    #expect(stored.subtracting(taken).isEmpty, "lost: \(stored.subtracting(taken).sorted())")
    #expect(killed.count >= 4, "killed at \(killed)")
    print("killed at \(killed); \(taken.count) fences delivered, \(stored.count) known to be stored")
  }
}
