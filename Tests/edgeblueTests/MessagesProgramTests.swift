import DeterministicTesting
import Foundation
import SystemTesting
import Testing
import Timing

@testable import edgeblue

/// The commands for messages as they were built, on clocks that run an hour in a second.
@Suite(
  "The commands for messages",
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct MessagesProgramTests {
  private let commands: MessagesCommands
  private var folder: String { commands.folder }
  private var unlocked: String { commands.unlocked }

  init() throws { commands = try MessagesCommands(program) }

  @Test("A written message is sent among covers, collected and opened, and the status shows it as sent")
  func aMessageArrives() async throws {
    let collector = try commands.collect()
    try await commands.setUp(server: "http://127.0.0.1:\(try collector.ports(in: "listening")[0])")
    _ = try await commands.edgeblue("write --to desk \(unlocked)", input: "Grüße")
    let before = try await commands.edgeblue("status --json \(unlocked)")
    #expect(field("waiting", of: before) == "1")

    let sender = try ChildProcess(
      program, ["messages", "run", "--state", "\(folder)/state", "--pace", "3600", "--json"], output: .discarded)
    let size = 773
    try await eventually("three runs are collected", within: .seconds(120)) { try collectedBytes() >= 6 * size }
    sender.signal(SIGTERM)
    #expect(await sender.wait() == 0)
    collector.signal(SIGTERM)
    #expect(await collector.wait() == 0)
    #expect(try collectedBytes() % size == 0)

    let opened = try await commands.edgeblue("open \(folder)/collected --keys \(folder)/keys --json")
    #expect(opened.contains("\"text\":\"Grüße\""))
    #expect(field("messages", of: opened.split(separator: "\n").last.map(String.init) ?? "") == "1")
    let after = try await commands.edgeblue("status --json \(unlocked)")
    #expect(field("waiting", of: after) == "0")
    #expect(field("sent", of: after) == "1")
    try commands.remove()
  }

  @Test(
    "The collector takes what PyNaCl has made, and PyNaCl opens what the sender has sent",
    .enabled(if: FileManager.default.isExecutableFile(atPath: python), "needs PyNaCl: scripts/python-peers"))
  func anIndependentClientAndReader() async throws {
    let collector = try commands.collect()
    let server = "http://127.0.0.1:\(try await collector.ports(in: "listening")[0])"
    try await commands.setUp(server: server)
    let posted = try await Self.peer(
      ["post", "\(folder)/keys", server + "/user/messages", "desk"], input: "From PyNaCl")
    #expect(posted == "200\n200\n")
    _ = try await commands.edgeblue("write --to desk \(unlocked)", input: "Grüße")
    let sender = try ChildProcess(
      program, ["messages", "run", "--state", "\(folder)/state", "--pace", "3600", "--json"], output: .discarded)
    try await eventually("a run is collected", within: .seconds(120)) { try collectedBytes() >= 4 * 773 }
    sender.signal(SIGTERM)
    #expect(await sender.wait() == 0)
    collector.signal(SIGTERM)
    #expect(await collector.wait() == 0)

    let opened = try await commands.edgeblue("open \(folder)/collected --keys \(folder)/keys --json")
    #expect(opened.contains("\"text\":\"From PyNaCl\""))
    let files = try FileManager.default.contentsOfDirectory(atPath: folder + "/collected").sorted()
      .filter { $0.hasPrefix("messages-") }.map { "\(folder)/collected/\($0)" }
    let lines = try await Self.peer(["collected", "\(folder)/keys"] + files + ["desk"]).split(separator: "\n")
    #expect(
      lines.filter { $0 != "cover" }.map { $0.split(separator: " ", maxSplits: 2).last } == ["From PyNaCl", "Grüße"])
    #expect(lines.count(where: { $0 == "cover" }) >= 2)
    try commands.remove()
  }

  @Test("A wrong passphrase, an unknown recipient, a long text and a foreign root key are refused in words")
  func mistakesAreRefused() async throws {
    let root = try await commands.edgeblue("keys make \(folder)/keys --recipient desk --json")
    let other = try await commands.edgeblue("keys make \(folder)/other --recipient desk --json")
    try "correct horse".write(toFile: "\(folder)/pass", atomically: true, encoding: .utf8)
    try "wrong".write(toFile: "\(folder)/wrong", atomically: true, encoding: .utf8)
    let setup = "setup --server http://127.0.0.1:1 --keys \(folder)/keys/keys.json --root"
    #expect(
      try await commands.failure("\(setup) \(try #require(field("root", of: other))) \(unlocked)")
        == 77)
    _ = try await commands.edgeblue("\(setup) \(try #require(field("root", of: root))) \(unlocked)")
    let wrong = unlocked.replacing("/pass", with: "/wrong")
    #expect(try await commands.failure("write --to desk \(wrong)", input: "text") == 77)
    #expect(try await commands.failure("write --to nobody \(unlocked)", input: "text") == 65)
    var random = SeededGenerator(seed: 1)
    let noise = (0..<900).map { _ in String(UInt8.random(in: 0..<36, using: &random), radix: 36) }.joined()
    #expect(try await commands.failure("write --to desk \(unlocked)", input: noise) == 65)
    #expect(field("waiting", of: try await commands.edgeblue("status --json \(unlocked)")) == "0")
    try commands.remove()
  }

  @Test("A second setup keeps the vault, wants its passphrase or a new vault, and replaces a damaged one")
  func anotherSetup() async throws {
    let made = try await commands.edgeblue("keys make \(folder)/keys --recipient desk --json")
    let root = try #require(field("root", of: made))
    for word in ["pass", "other"] { try word.write(toFile: "\(folder)/\(word)", atomically: true, encoding: .utf8) }
    let setup = "setup --server http://127.0.0.1:1 --keys \(folder)/keys/keys.json --root \(root)"
    let other = unlocked.replacing("/pass", with: "/other")
    _ = try await commands.edgeblue("\(setup) \(unlocked)")
    _ = try await commands.edgeblue("write --to desk \(unlocked)", input: "first")
    #expect(try await commands.failure("\(setup) \(other)") == 77)
    #expect(try await commands.edgeblue("\(setup) \(unlocked)").contains("was there before"))
    #expect(try await commands.edgeblue("\(setup) --state \(folder)/state").contains("was there before"))
    #expect(field("waiting", of: try await commands.edgeblue("status --json \(unlocked)")) == "1")

    #expect(!(try await commands.edgeblue("\(setup) --new-vault \(other)")).contains("was there before"))
    _ = try await commands.edgeblue("write --to desk \(other)", input: "second")
    #expect(field("waiting", of: try await commands.edgeblue("status --json \(other)")) == "1")
    try Data([1]).write(to: URL(filePath: "\(folder)/state/vault"))
    let (status, words) = try await commands.shell("write --to desk \(other)", "third")
    #expect(status != 0)
    #expect(words.contains("set up a new one"))
    #expect(try await commands.edgeblue("\(setup) \(other)").contains("is set up"))
    _ = try await commands.edgeblue("write --to desk \(other)", input: "third")
    try commands.remove()
  }

  private func collectedBytes() throws -> Int {
    let collected = folder + "/collected"
    return try FileManager.default.contentsOfDirectory(atPath: collected).filter { $0.hasPrefix("messages-") }
      .reduce(0) { $0 + ((try FileManager.default.attributesOfItem(atPath: "\(collected)/\($1)"))[.size] as? Int ?? 0) }
  }

  /// Runs `Peers/messages.py`, which shares no code with ours beyond libsodium itself, and returns its output.
  private static func peer(_ arguments: [String], input: String = "") async throws -> String {
    let script = root.appending(path: "Tests/MessageSendingTests/Peers/messages.py").path
    let process = try ChildProcess(python, [script] + arguments, hasInput: true)
    try await process.write(input)
    process.input.close()
    let (status, output, _) = await process.outcome()
    try #require(status == 0)
    return output
  }
}

private let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
private let program = root.appending(path: ".build/debug/edgeblue").path
private let python = root.appending(path: ".venv-peers/bin/python3").path
