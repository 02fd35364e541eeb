import DBusTesting
import Foundation
import Glibc
import SystemTesting
import Testing

extension LinkTests {
  /// What the commands that look at a loop do while nothing happens, and how soon they see what does.
  @Suite(
    "The commands `edgeblue loop status --watch` and `loop stop` wait for events",
    .enabled(if: FileManager.default.isExecutableFile(atPath: Peers.program), "needs the command: swift build"))
  struct LoopWatchTests {
    /// A line of `loop status --watch --json`, that of the first state for which a condition holds.
    private func line(
      of watch: ChildProcess, where isWanted: @escaping @Sendable ([String: Any]) -> Bool
    ) async throws {
      while true {
        let line = try await watch.firstLine()
        let state = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
        if isWanted(state) { return }
      }
    }

    /// The number of times that a process has read something. libdispatch wakes it each second, but reads nothing once its
    /// threads have ended.
    private func reads(of process: ChildProcess) throws -> Int {
      let text = try String(contentsOfFile: "/proc/\(process.pid)/io", encoding: .utf8)
      let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("syscr:") })
      return try #require(line.split(separator: " ").last.flatMap { Int($0) })
    }

    @Test("A watch shows each change, sleeps between them, and sees the death of the program") func watching()
      async throws
    {
      let program = try await LoopProgram()
      let loop = try program.start(tests: 5, delay: 600)
      while try await !loop.firstLine().contains("\"event\":\"end\"") {}
      let watch = try ChildProcess(Peers.program, ["loop", "status", "--watch", "--json", "--state", program.folder])
      try await line(of: watch) { $0["state"] as? String == "waiting" && $0["isRunning"] as? Bool == true }
      // A look each second would read three times in each of these.
      var isQuiet = false
      for _ in 0..<20 where !isQuiet {
        let before = try reads(of: watch)
        try await Task.sleep(for: .seconds(3))
        isQuiet = try reads(of: watch) == before
      }
      #expect(isQuiet, "it reads while nothing changes")
      loop.kill()
      await loop.wait()
      try await line(of: watch) { $0["isRunning"] as? Bool == false }
      // Continued by another program, and ended for good: the watch ends with the loop.
      let second = try program.start(tests: 5, delay: 600)
      try await line(of: watch) { $0["isRunning"] as? Bool == true }
      #expect(try await program.run(["loop", "stop"]).status == 0)
      try await line(of: watch) { $0["state"] as? String == "stopped" }
      #expect(await watch.wait() == 0)
      #expect(await second.wait() == 0)
      try await program.close()
    }

    @Test("A stop waits for a program that takes its time, and does not look meanwhile") func stopping() async throws {
      let program = try await LoopProgram()
      let loop = try program.start(tests: 5, delay: 600)
      while try await !loop.firstLine().contains("\"event\":\"end\"") {}
      loop.signal(SIGSTOP)
      let stop = try ChildProcess(Peers.program, ["loop", "stop", "--state", program.folder], errors: .kept)
      var isQuiet = false
      for _ in 0..<5 where !isQuiet {
        let before = try reads(of: stop)
        try await Task.sleep(for: .seconds(2))
        isQuiet = try before > 0 && reads(of: stop) == before
      }
      #expect(isQuiet, "it reads while nothing changes")
      loop.signal(SIGCONT)
      let outcome = await stop.outcome()
      #expect(outcome.status == 0, "\(outcome.errors)")
      #expect(await loop.wait() == 0)
      #expect(try await program.status()["state"] as? String == "stopped")
      try await program.close()
    }

    @Test("A stop after the program was killed, and one while it is killed, succeed", arguments: [false, true])
    func killed(isAsked: Bool) async throws {
      let program = try await LoopProgram()
      let loop = try program.start(tests: 5, delay: 600)
      while try await !loop.firstLine().contains("\"event\":\"end\"") {}
      if isAsked { loop.signal(SIGSTOP) } else { loop.kill() }
      let stop = try ChildProcess(Peers.program, ["loop", "stop", "--state", program.folder], errors: .kept)
      if isAsked {
        try await Task.sleep(for: .milliseconds(500))
        loop.kill()
      }
      let outcome = await stop.outcome()
      #expect(outcome.status == 0, "\(outcome.errors)")
      await loop.wait()
      #expect(try await program.status()["state"] as? String == "stopped")
      try await program.close()
    }

    private static let python = Peers.path("../../../.venv-peers/bin/python3")

    @Test(
      "The status of a loop says that GeoClue's user refuses the location, and that it was permitted",
      .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
      .enabled(if: ChildProcess.path(of: python) != nil, "needs dbus-fast: scripts/python-peers"))
    func refusedLocation() async throws {
      let bus = try PrivateBus()
      let script = Peers.path("../../SystemStateTests/Peers/geoclue.py")
      let geoClue = try ChildProcess(Self.python, [script, bus.address, "refused"], hasInput: true)
      _ = try await geoClue.firstLine()
      let program = try await LoopProgram()
      let environment = ProcessInfo.processInfo.environment.merging(["DBUS_SYSTEM_BUS_ADDRESS": bus.address]) { $1 }
      let loop = try program.start(tests: 5, delay: 600, ["--geoclue"], environment: environment)
      let watch = try await watchOfALoop(program)
      try await line(of: watch) { $0["locationError"] as? String == "not permitted" }
      let words = try await program.run(["loop", "status"]).output
      #expect(words.contains("GeoClue: it does not let this program locate the host (permit it in"), "\(words)")
      #expect(words.contains("until then tests begin by time alone"), "\(words)")
      try await geoClue.write("granted\n")
      try await line(of: watch) { $0["location"] as? String == "known" && $0["locationError"] is NSNull }
      geoClue.kill()
      try await line(of: watch) { $0["locationError"] as? String == "unavailable" }
      loop.kill()
      watch.kill()
      await loop.wait()
      await watch.wait()
      try await program.close()
    }

    /// A watch of a loop that is just being started.
    private func watchOfALoop(_ program: LoopProgram) async throws -> ChildProcess {
      while !FileManager.default.fileExists(atPath: program.folder + "/loop.json") {
        try await Task.sleep(for: .milliseconds(10))
      }
      return try ChildProcess(Peers.program, ["loop", "status", "--watch", "--json", "--state", program.folder])
    }
  }
}
