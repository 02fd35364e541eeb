import Foundation
import SystemTesting
import Testing

extension LinkTests {
  /// The command between two network namespaces, over a cable that the kernel shapes to a known rate.
  @Suite(
    .enabled(if: ShapedLink.isPermitted, "needs tc, and root or to run under: unshare --user --map-root-user --net"),
    .enabled(if: FileManager.default.isExecutableFile(atPath: Peers.program), "needs the command: swift build"),
    .timeLimit(.minutes(5)))
  struct ShapedLinkTests {
    // How near is a question for Benchmarks/speedtest: a busy machine cannot keep a shaped cable full.
    @Test("The rates of both directions are those of the shaped link") func theTruth() async throws {
      let values = try await ShapedLink.measure(down: 20, up: 5, ["--threads", "3", "--seconds", "2"])
      #expect(values["failure"] is NSNull)
      #expect(values["serverAddress"] as? String == "192.0.2.2")
      for (direction, rate) in [("download", 20e6), ("upload", 5e6)] {
        let result = try #require(values[direction] as? [String: Any])
        let reported = try #require(result["bitsPerSecond"] as? Double)
        #expect((rate / 2...rate).contains(reported), "\(direction): \(reported / 1e6) of \(rate / 1e6) Mbit/s")
      }
      let ping = try #require(values["ping"] as? [String: Any])
      #expect(try #require(ping["medianMs"] as? Double) > 0)
    }

    @Test("The table names the rate, the ping and a verdict") func theTable() async throws {
      let output = try await ShapedLink.run(down: 20, up: 5, ["--threads", "2", "--seconds", "1", "--no-upload"])
      let lines = output.split(separator: "\n").map(String.init)
      try #require(lines.count == 4, "\(output)")
      #expect(lines.prefix(3).map { String($0.prefix { $0 != " " }) } == ["Server", "Download", "Ping"])
      #expect(lines[1].contains(" Mbit/s"))
      #expect(lines[1].contains("good"))
      #expect(lines[2].contains("jitter"))
      #expect(lines[3].contains("suffices for"))
    }
  }
}

/// The script that makes the namespaces and the cable.
private enum ShapedLink {
  static let isPermitted: Bool = {
    guard ChildProcess.path(of: "tc") != nil, ChildProcess.path(of: "nsenter") != nil else { return false }
    do {
      let check = try ChildProcess(
        "unshare",
        [
          "--net", "tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "1mbit", "burst", "5000", "latency",
          "50ms",
        ],
        output: .discarded, errors: .discarded)
      return check.wait() == 0
    } catch {
      return false
    }
  }()

  static func run(down: Int, up: Int, _ arguments: [String]) async throws -> String {
    let script = ["--net", Peers.path("shaped-link"), Peers.program, "\(down)", "\(up)"]
    let process = try ChildProcess("unshare", script + arguments, errors: .kept)
    let outcome = try await within(.seconds(40), "a test over a shaped link") { await process.outcome() }
    #expect(outcome.status == 0, "\(outcome.errors)")
    return outcome.output
  }

  static func measure(down: Int, up: Int, _ arguments: [String]) async throws -> [String: Any] {
    let output = try await run(down: down, up: up, arguments + ["--json"])
    return try #require(try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])
  }
}
