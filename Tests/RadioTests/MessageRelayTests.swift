import BlueZ
import Foundation
import Streams
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

    /// What the keys of a bond are worth is for the kernel to say. A just-works bond is not enough for `authenticated`.
    @Test(
      "A closed relay takes channels only over connections that the kernel has secured as its mode demands",
      .enabled(if: Radio.isLab, Radio.labNeeded), .enabled(if: Command.isBuilt, Command.needed),
      .timeLimit(.minutes(5)))
    func aClosedRelaySecuresItsChannels() async throws {
      let collector = try await Self.setUp()
      let isOpen = Lock(false)
      let user = PairingAgent(authorizePairing: { _ in isOpen.withLock { $0 } })
      try await PairingPair.with(central: user, peripheral: user) { pair in
        try await pair.forget()
        let encrypted = try Self.relay(pace: 1, access: "encrypted")
        _ = try await encrypted.line(with: "listening")
        try await Self.expectRefusal(pair)
        isOpen.withLock { $0 = true }
        let window = try await pair.peripheral.openPairingWindow(for: .seconds(60))
        try await pair.central.find(pair.peripheral.address, timeout: .seconds(60)).pair()
        try await window.close()
        isOpen.withLock { $0 = false }
        try await pair.central.find(pair.peripheral.address, timeout: .seconds(60)).openChannel(psm: 0xb5).close()
        #expect(try await encrypted.end() == 0)
        let authenticated = try Self.relay(pace: 1, access: "authenticated")
        _ = try await authenticated.line(with: "listening")
        try await Self.expectRefusal(pair)
        #expect(try await authenticated.end() == 0)
      }
      #expect(try await collector.end() == 0)
      try FileManager.default.removeItem(atPath: Self.folder)
    }

    /// Expects that the kernel of the relay refuses a channel; one that it does not secure would open.
    private static func expectRefusal(_ pair: PairingPair) async throws {
      let device = try await pair.central.find(pair.peripheral.address, timeout: .seconds(60))
      let error = await #expect(throws: BlueZError.self) {
        try await device.openChannel(psm: 0xb5, timeout: .seconds(10))
      }
      let refusals: [BlueZError.Code] = [.authenticationFailed, .timedOut, .notConnected, .connectFailed]
      #expect(refusals.contains(try #require(error).code), "\(error as Any)")
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

    private static func relay(pace: Int, access: String = "open") throws -> Subprocess {
      try Subprocess(
        Command.path,
        [
          "messages", "relay", "--state", "\(folder)/relay", "--adapter", Radio.phone, "--pace", "\(pace)", "--json",
          "--access", access, "--bonds", "\(folder)/bonds",
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
