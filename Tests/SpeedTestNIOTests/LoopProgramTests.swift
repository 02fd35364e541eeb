import Foundation
import Glibc
import Logging
import Places
import SpeedTest
import SpeedTestNIO
import SystemTesting
import Testing

/// The command `edgeblue loop` beside a server, in a folder of its own.
final class LoopProgram: Sendable {
  let folder = NSTemporaryDirectory() + "edgeblue-loop-\(UUID().uuidString)"
  let server: SpeedTestServer

  init() async throws {
    server = try await .start(.init(address: "127.0.0.1", port: 0, access: .open), logger: Logger(label: "test"))
  }

  func close() async throws {
    await server.stop()
    try FileManager.default.removeItem(atPath: folder)
  }

  /// Starts or continues a loop of short tests, with a second between them.
  /// - Parameter delay: The seconds between them.
  func start(
    tests: Int, delay: Int = 1, _ more: [String] = [], environment: [String: String]? = nil
  ) throws -> ChildProcess {
    let words = [
      "loop", "start", "--json", "--state", folder, "--server", "127.0.0.1:\(server.port)", "--threads", "1",
      "--seconds", "1", "--no-upload", "--tests", "\(tests)", "--delay-seconds", "\(delay)", "--retry-seconds", "1",
      "--unattended",
    ]
    return try ChildProcess(Peers.program, words + more, environment: environment, errors: .discarded)
  }

  func run(_ words: [String]) async throws -> (status: Int32, output: String, errors: String) {
    try await ChildProcess(Peers.program, words + ["--state", folder], errors: .kept).outcome()
  }

  func history() async throws -> [[String: Any]] {
    let lines = try await run(["loop", "history", "--json"]).output.split(separator: "\n")
    return try lines.map { try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
  }

  func status() async throws -> [String: Any] {
    let output = try await run(["loop", "status", "--json"]).output
    return try #require(try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])
  }
}

extension LinkTests {
  @Suite(
    "The command `edgeblue loop`",
    .enabled(if: FileManager.default.isExecutableFile(atPath: Peers.program), "needs the command: swift build"))
  struct LoopProgramTests {
    @Test("A loop runs to its end, and each result is stored once") func toTheEnd() async throws {
      let program = try await LoopProgram()
      let loop = try program.start(tests: 2, ["--place", "48.2,16.37"])
      let outcome = await loop.outcome()
      #expect(outcome.status == 0)
      let events = outcome.output.split(separator: "\n").filter { !$0.contains("\"location\"") }
      #expect(events.count { $0.contains("\"event\":\"begin\"") } == 2)
      #expect(events.count { $0.contains("\"event\":\"end\"") } == 2)
      let history = try await program.history()
      #expect(history.map { $0["status"] as? String } == ["completed", "completed"])
      #expect(history.map { $0["trigger"] as? String } == ["first", "time"])
      #expect(history.map { $0["result"] as? Int } == [1, 2])
      let archive = SpeedTestArchive(path: program.folder + "/results")
      #expect(try archive.numbers() == [1, 2])
      let stored = try #require(try archive.record(2))
      #expect(stored.loop?.test == 2)
      // A fixed place is delivered again every ten seconds, which a test on a busy machine can last.
      let places = try #require(stored.locations)
      #expect(Set(places.map(\.place)) == [try #require(Place(latitude: 48.2, longitude: 16.37))])
      #expect(Set(places.map(\.provider)) == ["place"])
      let listed = history[1]["downloadBitsPerSecond"] as? Double
      #expect(stored.result.download?.throughput.bitsPerSecond.rounded() == listed?.rounded())
      #expect(try await program.status()["state"] as? String == "completed")
      // A loop that is over is not continued.
      let again = try await program.run(["loop", "start"])
      #expect(again.status == 69)
      try await program.close()
    }

    @Test("A stop ends the loop for good, whoever runs it") func stop() async throws {
      let program = try await LoopProgram()
      let loop = try program.start(tests: 5)
      while try await !loop.firstLine().contains("\"event\":\"begin\"") {}
      #expect(try await program.status()["isRunning"] as? Bool == true)
      // A second process does not run the same loop.
      #expect(try await program.start(tests: 5).outcome().status == 75)
      let stopped = try await program.run(["loop", "stop"])
      #expect(stopped.status == 0, "\(stopped.errors)")
      #expect(await loop.wait() == 0)
      let status = try await program.status()
      #expect(status["state"] as? String == "stopped")
      #expect(status["isRunning"] as? Bool == false)
      #expect(try await program.history().allSatisfy { $0["status"] as? String != nil })
      #expect(try await program.run(["loop", "stop"]).output.contains("over already"))
      #expect(try await program.run(["loop", "start"]).status == 69)
      try await program.close()
    }

    @Test("SIGTERM leaves a loop that goes on, and other settings are refused") func terminated() async throws {
      let program = try await LoopProgram()
      let first = try program.start(tests: 2)
      while try await !first.firstLine().contains("\"event\":\"begin\"") {}
      first.signal(SIGTERM)
      #expect(await first.wait() == 0)
      #expect(try await program.history().map { $0["status"] as? String } == ["interrupted"])
      #expect(try await program.start(tests: 3).outcome().status == 65)
      // Without options, as a user would; the settings are those of the loop.
      let second = try await program.run(["loop", "start", "--json"])
      #expect(second.status == 0)
      let attempts = try await program.history().map { [$0["test"] as? Int, $0["attempt"] as? Int] }
      #expect(attempts == [[1, 1], [1, 2], [2, 1]])
      try await program.close()
    }

    @Test("Kills at any instant lose no test and double none") func kills() async throws {
      let program = try await LoopProgram()
      let kills = ProcessInfo.processInfo.environment["EDGEBLUE_KILLS"].flatMap { Int($0) } ?? 3
      let tests = min(max(kills, 1), 500)
      for number in 0..<kills {
        let loop = try program.start(tests: tests)
        // From before the first save to after the end of a test.
        let wait = number.isMultiple(of: 2) ? Int.random(in: 0...600) : .random(in: 600...5500)
        try await Task.sleep(for: .milliseconds(wait))
        loop.kill()
        await loop.wait()
      }
      // The tests that the kills have left.
      let end = try await program.start(tests: tests).outcome(within: .seconds(200 + 10 * tests))
      #expect(end.status == 0, "\(end.errors)")
      try await Self.check(program, tests: tests)
      try await program.close()
    }

    /// Compares the history with the stored results.
    private static func check(_ program: LoopProgram, tests: Int) async throws {
      let history = try await program.history()
      let keys = history.map { [$0["test"] as? Int ?? 0, $0["attempt"] as? Int ?? 0] }
      #expect(Set(keys).count == keys.count)
      #expect(keys.filter { $0[1] == 1 }.map { $0[0] } == Array(1...tests))
      let archive = SpeedTestArchive(path: program.folder + "/results")
      var stored: [[Int]: Bool] = [:]
      for number in try archive.numbers() {
        let record = try #require(try archive.record(number))
        let loop = try #require(record.loop)
        #expect(stored[[loop.test, loop.attempt]] == nil, "a doubled test")
        stored[[loop.test, loop.attempt]] = record.result.failure == nil
      }
      for (key, test) in zip(keys, history) {
        #expect((test["status"] as? String == "completed") == (stored[key] == true), "test \(key)")
      }
    }
  }
}
