import Foundation
import Testing

/// A relay of messages between two radios, with the programs as they were built.
extension RadioTests {
  @Suite("A relay of messages, over the radio") struct MessageRelays {
    private static let folder = FileManager.default.temporaryDirectory.path + "/relay-\(UUID().uuidString.prefix(8))"

    @Test(
      "A message reaches the collector over a relay that is killed after it has taken it",
      .enabled(if: Radio.isLab, Radio.labNeeded), .enabled(if: Command.isBuilt, Command.needed),
      .timeLimit(.minutes(10)))
    func aMessageSurvivesTheRelay() async throws {
      let folder = Self.folder
      let collector = try await Self.setUp()
      let address = try await Radio.adapter(Radio.phone).address.description
      // Its clock is the real one: it takes messages, and passes none on before it is killed.
      let first = try Self.relay(pace: 1)
      _ = try await first.line(with: "listening")
      let sender = try Subprocess(
        Command.path,
        [
          "messages", "run", "--state", "\(folder)/sender", "--relay", address, "--adapter", Radio.mac, "--pace", "600",
          "--json",
        ])
      _ = try await first.line(with: "stored")
      first.kill()
      _ = await first.status()
      let second = try Self.relay(pace: 3600)
      let text = try await Self.opened(within: .seconds(240))
      #expect((1...2).contains(text.components(separatedBy: "over the air").count - 1))
      #expect(try await sender.end() == 0)
      #expect(try await second.end() == 0)
      #expect(try await collector.end() == 0)
      try FileManager.default.removeItem(atPath: folder)
    }

    /// Makes keys, a collector, the folders of a sender and a relay, and a message in the sender's queue.
    private static func setUp() async throws -> Subprocess {
      try await shell("mkdir -p \(folder) && echo 'correct horse' > \(folder)/pass")
      let keys = try Subprocess(
        Command.path, ["messages", "keys", "make", "\(folder)/keys", "--recipient", "desk", "--json"])
      let root = try field("root", of: await keys.line(with: "root"))
      let collector = try Subprocess(
        Command.path, ["messages", "collect", "--to", "\(folder)/collected", "--port", "0", "--json"])
      let port = try field("port", of: await collector.line(with: "listening"))
      for name in ["sender", "relay"] {
        try await shell(
          """
          \(Command.path) messages setup --state \(folder)/\(name) --server http://127.0.0.1:\(port) \
          --keys \(folder)/keys/keys.json --root '\(root)' --passphrase-fd 3 3< \(folder)/pass
          """)
      }
      try await shell(
        """
        printf 'over the air' | \(Command.path) messages write --to desk --state \(folder)/sender \
        --passphrase-fd 3 3< \(folder)/pass
        """)
      return collector
    }

    private static func relay(pace: Int) throws -> Subprocess {
      try Subprocess(
        Command.path,
        [
          "messages", "relay", "--state", "\(folder)/relay", "--adapter", Radio.phone, "--pace", "\(pace)", "--json",
        ])
    }

    /// Returns what a recipient reads at the collector, once there is something.
    private static func opened(within limit: Duration) async throws -> String {
      try await bounded(limit, "the message at the collector") {
        while true {
          let path = "\(folder)/opened"
          try await shell("\(Command.path) messages open \(folder)/collected --keys \(folder)/keys > \(path)")
          let text = try String(contentsOfFile: path, encoding: .utf8)
          if text.contains("over the air") { return text }
          try await ContinuousClock().sleep(for: .seconds(1))
        }
      }
    }

    private static func field(_ name: String, of line: String) throws -> String {
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      return "\(try #require(object?[name]))"
    }
  }
}
