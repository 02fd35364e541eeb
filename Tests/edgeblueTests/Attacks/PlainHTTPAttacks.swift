import DBusTesting
import Foundation
import SystemTesting
import Testing

@testable import edgeblue

/// Networks that read along.
@Suite("Plain http to other hosts") struct PlainHTTPAttacks {
  private let terminal = Terminal(json: true)

  @Test(
    "Plain http to another host needs a flag",
    arguments: [
      "http://studio.local:11434", "http://192.0.2.1", "HTTP://[2001:db8::1]:80/v1", "http://127.0.0.1.example",
    ])
  func otherHostsNeedAFlag(url: String) throws {
    let error = #expect(throws: Failure.self) {
      try InsecureOptions.parse([]).check(["--engine-url": url], terminal)
    }
    #expect(error?.status == .badInput)
    #expect(error?.hint?.contains("--insecure") == true)
    try InsecureOptions.parse(["--insecure"]).check(["--engine-url": url], terminal)
  }

  @Test(
    "Encrypted URLs and those of this machine need none",
    arguments: ["https://studio.local", "http://127.0.0.1:11434", "http://localhost", "http://[::1]:8333", nil])
  func thisMachineNeedsNone(url: String?) throws {
    try InsecureOptions.parse([]).check(["--endpoint": url], terminal)
  }
}

/// The commands that send something to a server.
@Suite(
  "Commands and plain http to other hosts",
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct PlainHTTPProgramAttacks {
  private static let url = "http://192.0.2.1"
  private let folder = FileManager.default.temporaryDirectory.path + "/edgeblue-plain-\(UUID().uuidString.prefix(8))"

  /// Runs a command in an empty home folder, with a state folder where `STATE` stands.
  private func run(_ command: [String], _ variables: [String: String] = [:]) async throws -> (
    status: Int32, output: String, errors: String
  ) {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let environment = ["HOME": folder].merging(variables) { $1 }
    let process = try ChildProcess(
      program, command.map { $0 == "STATE" ? folder + "/state" : $0 }, environment: environment, errors: .kept)
    return await process.outcome()
  }

  private func expectRefusal(_ outcome: (status: Int32, output: String, errors: String)) {
    #expect(outcome.status == 65, "\(outcome.errors)")
    #expect(outcome.errors.contains("the connection to 192.0.2.1 would not be encrypted"), "\(outcome.errors)")
    #expect(outcome.errors.contains("--insecure"), "\(outcome.errors)")
  }

  private func removeFolder() { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: folder) } }

  private static let queue = ["--bucket", "bucket", "--state", "STATE"]
  private static let wearable = ["--wearable", "AA:BB:CC:00:00:01", "--upload", "bucket"]
  private static let tokens = ["--token-file", program, "--token-service", url]

  /// The commands with each option that names a server.
  private static let commands: [[String]] = [
    ["phone", "--engine", "ollama", "--engine-url", url], ["central", "--engine", "ollama", "--engine-url", url],
    ["ask", "hello", "--central-url", url], ["doctor", "--engine", "ollama", "--engine-url", url],
    ["agent", "run", "--state", "STATE", "--coordinator", url],
    ["agent", "run", "--state", "STATE", "--engine", "ollama", "--engine-url", url],
    ["agent", "run", "--state", "STATE", "--uploads", "--endpoint", url],
    ["agent", "run", "--state", "STATE", "--uploads"] + tokens,
    ["agent", "run", "--state", "STATE", "--coverage", "--accept-terms", "--place", "48,16", "--control", url],
    ["agent", "setup", "--yes", "--no-start", "--config", "STATE", "--engine", "echo", "--coordinator", url],
    ["agent", "setup", "--yes", "--no-start", "--config", "STATE", "--engine", "ollama", "--engine-url", url],
    ["record"] + wearable + ["--endpoint", url], ["record"] + wearable + tokens,
    ["upload", program] + queue + ["--endpoint", url], ["upload", program] + queue + tokens,
    ["uploads", "run", "--state", "STATE", "--endpoint", url], ["uploads", "run", "--state", "STATE"] + tokens,
    ["speedtest", "run", "--state", "STATE", "--control", url],
    ["loop", "start", "--unattended", "--state", "STATE", "--control", url],
    ["coverage", "run", "--state", "STATE", "--place", "48,16", "--control", url],
    ["uploads", "verify", "--state", "STATE"] + tokens, ["uploads", "move", "--state", "STATE", "--to", url],
  ]

  /// Options that name a server to which nothing is sent without its own check, or at all.
  private static let others: Set = [
    // It asks the servers of the items; see ``queuedItemsAreChecked()``.
    "uploads verify --endpoint",
    // It sends nothing.
    "uploads move --endpoint", "uploads move --token-service",
    // They need https, whatever the flags; the proxy is one of SOCKS.
    "messages setup --server", "messages setup --keys", "messages setup --resolver", "messages setup --proxy",
    // A captive portal answers plain http alone, and the probe sends nothing that is secret.
    "path --probe", "agent run --probe",
  ]

  @Test("Each option that names a server is examined") func allAreKnown() throws {
    let found = try CommandTree.read().leaves().flatMap { words, command in
      (command.arguments ?? []).filter { $0.valueName?.hasSuffix("url") == true }
        .compactMap { $0.names?.first.map { "\(words) --\($0.name)" } }
    }
    // The words of the command, and the option before the URL.
    let examined = Self.commands.map { command in
      let words = command.prefix(["agent", "uploads", "speedtest", "loop", "coverage"].contains(command[0]) ? 2 : 1)
      return (words + command.suffix(2).prefix(1)).joined(separator: " ")
    }
    #expect(Set(found).subtracting(examined) == Self.others)
  }

  @Test("Each command refuses plain http to another host", arguments: commands)
  func optionsAreChecked(command: [String]) async throws {
    defer { removeFolder() }
    expectRefusal(try await run(command))
  }

  @Test("Messages and their keys need https", arguments: ["--server", "--keys", "--resolver"])
  func messagesAreChecked(option: String) async throws {
    let commands = try MessagesCommands(program)
    let root = try await commands.setUp(server: "http://127.0.0.1:9")
    var options = ["--server": "https://192.0.2.1", "--keys": commands.folder + "/keys/keys.json", "--root": root]
    options[option] = Self.url + "/keys.json"
    let words = options.map { "\($0) \($1)" }.joined(separator: " ")
    let (status, said) = try await commands.shell("setup \(words) \(commands.unlocked)", "")
    #expect(status == 65)
    #expect(said.contains("URL is \(Self.url)/keys.json; required: https"), "\(said)")
    try commands.remove()
  }

  /// The commands that send files, without the option that names a server.
  private static let senders: [[String]] = [
    ["uploads", "run", "--state", "STATE", "--once"], ["upload", program, "--bucket", "bucket", "--state", "STATE"],
    ["upload", program, "--bucket", "bucket", "--state", "STATE", "--later"],
    ["record", "--out", "STATE", "--wearable", "AA:BB:CC:00:00:01", "--upload", "bucket", "--state", "STATE"],
    ["agent", "--state", "STATE", "--uploads"],
  ]

  @Test("A server that AWS's settings name is checked, too", arguments: senders, ["AWS_ENDPOINT_URL_S3", "profile"])
  func settingsAreChecked(command: [String], source: String) async throws {
    defer { removeFolder() }
    guard source == "profile" else { return expectRefusal(try await run(command, [source: Self.url])) }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let config = folder + "/config"
    try Data("[profile studio]\nendpoint_url = \(Self.url)\n".utf8).write(to: URL(filePath: config))
    expectRefusal(try await run(command, ["AWS_CONFIG_FILE": config, "AWS_PROFILE": "studio"]))
  }

  /// Queues a file for a server.
  private func queue(for server: String) async throws {
    let file = folder + "/file"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    #expect(FileManager.default.createFile(atPath: file, contents: Data([1])))
    let add = ["upload", file, "--bucket", "bucket", "--later", "--state", "STATE", "--insecure", "--endpoint", server]
    #expect(try await run(add).status == 0)
  }

  @Test("An item that was queued with the flag is not sent without it") func queuedItemsAreChecked() async throws {
    defer { removeFolder() }
    try await queue(for: Self.url)
    expectRefusal(try await run(["uploads", "run", "--once", "--state", "STATE"]))
    let keys = ["AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"]
    // One item that cannot be verified keeps no other from it, so the refusal is the item's.
    let verified = try await run(["uploads", "verify", "1", "--state", "STATE"], keys)
    #expect(verified.status == 75)
    #expect(verified.output.contains("the connection to 192.0.2.1 would not be encrypted"), "\(verified)")
  }

  /// An agent starts whatever is queued.
  @Test(
    "An agent sends the items for other servers, and none that was queued with the flag",
    .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"))
  func itemsOfAnAgentAreChecked() async throws {
    defer { removeFolder() }
    let bus = try PrivateBus()
    try await queue(for: Self.url)
    // Of several servers the first in the order of their names is taken.
    try await queue(for: "http://localhost:9")
    let variables = [
      "HOME": folder, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "DBUS_SYSTEM_BUS_ADDRESS": bus.address,
    ]
    let agent = try ChildProcess(
      program, ["agent", "--uploads", "--state", folder + "/state", "--bus", bus.address], environment: variables)
    func attempts(_ item: String) async throws -> Int {
      let shown = try await run(["uploads", "show", item, "--json", "--state", "STATE"]).output
      return try #require(field("attempts", of: shown).flatMap { Int($0) }, "\(shown)")
    }
    try await eventually("the other item is tried") { try await attempts("2") > 0 }
    #expect(try await attempts("1") == 0)
    agent.signal(SIGTERM)
    #expect(await agent.wait() == 0)
    #expect(try await attempts("1") == 0)
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../../.build/debug/edgeblue").standardized.path
