import AudioIngestTesting
import DBusTesting
import Foundation
import SystemTesting
import Testing
import Uploads

@testable import edgeblue

/// The sockets at which the built command listens.
@Suite(
  "What the built command listens for",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct ListeningProgramAttacks {
  private let messages: MessagesCommands
  private var folder: String { messages.folder }

  init() throws { messages = try MessagesCommands(program) }

  /// A command that can serve metrics, with what it needs.
  enum Command: String, CaseIterable {
    case agent = "agent run"
    case uploads = "uploads run"
    case sender = "messages run"
    case collector = "messages collect"
    case speedTests = "speedtest serve"
    case coverage = "coverage serve"
  }

  @Test("Each command that can serve metrics is examined") func allAreKnown() throws {
    let found = try CommandTree.read().leaves().filter { $0.value.has("metrics-port") }.map(\.key)
    // The relay needs a controller; its server is that of the others.
    #expect(found.sorted() == (Command.allCases.map(\.rawValue) + ["messages relay"]).sorted())
    try messages.remove()
  }

  @Test("Without a port no metrics are served, and with one they are on 127.0.0.1", arguments: Command.allCases)
  func metricsNeedAPort(command: Command) async throws {
    let bus = try PrivateBus()
    let words = try await prepare(command, bus)
    for port in [[], ["--metrics-port", "0"]] {
      let process = try ChildProcess(
        program, words + ["--json"] + port,
        environment: [
          "DBUS_SYSTEM_BUS_ADDRESS": bus.address, "HOME": folder, "AWS_ACCESS_KEY_ID": "a",
          "AWS_SECRET_ACCESS_KEY": "b",
        ], errors: .discarded)
      defer { process.kill() }
      let ports =
        switch (command, port.isEmpty) {
        case (.collector, true): try await process.ports(in: "listening")
        case (.collector, false): try await process.ports(in: "listening", "metrics")
        case (.speedTests, true), (.coverage, true): try await process.ports(in: "serving")
        case (.speedTests, false), (.coverage, false): try await process.ports(in: "serving", "metrics")
        case (_, true): [Int]()
        case (_, false): try await process.ports(in: "metrics")
        }
      try await waitUntilItWorks(command, bus)
      let found = try TCPSockets.listening(by: process)
      #expect(found == Set(ports.map { .init("127.0.0.1", $0) }))
      process.signal(SIGTERM)
      #expect(await process.wait() == 0)
    }
    try messages.remove()
  }

  @Test(
    "A collector without a certificate listens for this host alone, by each of its names",
    arguments: [("127.0.0.1", [here4]), ("::1", [here6]), ("localhost", [here4, here6])])
  func aCollectorStaysHere(host: String, addresses: [String]) async throws {
    let process = try messages.collect(["--host", host], errors: .discarded)
    defer { process.kill() }
    let port = try await process.ports(in: "listening")[0]
    let found = try TCPSockets.listening(by: process)
    #expect(found.count == 1)
    #expect(found.isSubset(of: addresses.map { .init($0, port) }), "\(found)")
    process.signal(SIGTERM)
    #expect(await process.wait() == 0)
    try messages.remove()
  }

  @Test("A central listens on 127.0.0.1 alone") func aCentralStaysHere() async throws {
    let lab = try await FakeRadio()
    guard case .address(let bus) = lab.fake.bus else { throw MissingProgram("a bus of its own") }
    let process = try ChildProcess(
      program, ["central", "--port", "0", "--adapter", lab.fake.adapters[0].name, "--json", "--state", folder],
      environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus, "HOME": folder], errors: .discarded)
    defer { process.kill() }
    let port = try await process.ports(in: "serving")[0]
    let found = try TCPSockets.listening(by: process)
    #expect(found == [.init("127.0.0.1", port)])
    process.kill()
    try await lab.stop()
    try messages.remove()
  }

  /// The addresses of this host as the kernel lists them: of version 6, each four bytes are a number of this machine.
  private static let here4 = "127.0.0.1"
  private static let here6 = String(repeating: "0", count: 24) + String(format: "%08X", UInt32(1).bigEndian)

  /// Makes what a command needs, and returns its words.
  private func prepare(_ command: Command, _ bus: PrivateBus) async throws -> [String] {
    switch command {
    case .agent: return ["agent", "--bus", bus.address, "--state", folder + "/state"]
    case .uploads:
      let queue = ["--state", folder + "/state", "--endpoint", "http://127.0.0.1:9"]
      let file = folder + "/file"
      try Data([1]).write(to: URL(filePath: file))
      let add = try ChildProcess(
        program, ["upload", file, "--bucket", "bucket", "--later"] + queue, output: .discarded)
      #expect(await add.outcome().status == 0)
      return ["uploads", "run"] + queue
    case .sender:
      try await messages.setUp(server: "http://127.0.0.1:9")
      return ["messages", "run", "--state", folder + "/state", "--pace", "3600"]
    case .collector: return ["messages", "collect", "--to", folder + "/collected", "--port", "0"]
    case .speedTests: return ["speedtest", "serve", "--open", "--address", "127.0.0.1", "--port", "0"]
    case .coverage:
      try "keyofpings label\n".write(toFile: folder + "/keys", atomically: true, encoding: .utf8)
      let options = ["--port", "0", "--state", folder + "/state", "--ping-host", "127.0.0.1"]
      return ["coverage", "serve", "--key-file", folder + "/keys"] + options
    }
  }

  /// Waits until a command does what it is for, which it begins after its servers.
  private func waitUntilItWorks(_ command: Command, _ bus: PrivateBus) async throws {
    switch command {
    case .agent:
      try await eventually("the agent takes orders") {
        let order = try ChildProcess(
          program, ["lifecycle", "background", "--bus", bus.address], output: .discarded, errors: .discarded)
        return await order.outcome().status == 0
      }
    case .uploads:
      let store = try QueueStore(in: folder + "/state")
      let before = try store.item(1)?.nextAttemptAtMs ?? 0
      do throws(UploadsError) {
        try store.retry(1)
      } catch {
        // It may be tried at this moment.
        guard error.code == .invalidState else { throw error }
      }
      try await eventually("the item is tried") { try store.item(1)?.nextAttemptAtMs ?? 0 > before }
    case .sender:
      let record = folder + "/state/sending.state"
      let before = FileManager.default.contents(atPath: record)
      try await eventually("a run is over") { FileManager.default.contents(atPath: record) != before }
    // They are known by their ports.
    case .collector, .speedTests, .coverage: break
    }
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../../.build/debug/edgeblue").standardized.path
