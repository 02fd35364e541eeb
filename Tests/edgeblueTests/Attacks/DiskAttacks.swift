import EdgeCoderTesting
import Foundation
import SystemTesting
import Testing

/// Everything that the commands for prompts leave on disk, with what was said looked for in it.
@Suite(
  "Prompts and replies on disk",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct DiskAttacks {
  /// In every prompt and, because the engine repeats it, in every reply.
  private static let secret = "geheimnis"
  private let folder = FileManager.default.temporaryDirectory.path + "/edgeblue-disk-\(UUID().uuidString.prefix(8))"
  private let air: FakeTrust

  init() async throws {
    for name in ["home", "tmp", "run"] {
      try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
    }
    air = try await FakeTrust.start()
  }

  /// Starts a command whose working folder, home and temporary files are in the folder, and that logs all it can.
  private func start(_ words: [String], at index: Int? = nil) throws -> ChildProcess {
    guard case .address(let bus) = air.lab.bus else { throw MissingProgram("a bus of its own") }
    let adapter = index.map { ["--access", "open", "--adapter", air.lab.adapters[$0].name] } ?? []
    return try ChildProcess(
      "sh", ["-c", #"cd "$0" && exec "$@""#, folder + "/run", program] + words + ["--log-level", "trace"] + adapter,
      environment: [
        "DBUS_SYSTEM_BUS_ADDRESS": bus, "HOME": folder + "/home", "TMPDIR": folder + "/tmp", "PATH": "/usr/bin:/bin",
      ], errors: .discarded)
  }

  /// Sends a prompt, and expects the reply.
  private func ask(_ words: [String], at index: Int? = nil) async throws {
    let (status, output, _) = await (try start(["ask"] + words + ["tell me a \(Self.secret)"], at: index)).outcome()
    #expect(status == 0, "\(words)")
    #expect(output.contains(Self.secret), "\(words)")
  }

  /// Expects that no file below the folder contains what was said, and returns the names of the files.
  @discardableResult private func expectSilence() throws -> Set<String> {
    var names: Set<String> = []
    for path in try FileManager.default.subpathsOfDirectory(atPath: folder) {
      guard let data = FileManager.default.contents(atPath: "\(folder)/\(path)") else { continue }
      #expect(data.range(of: Data(Self.secret.utf8)) == nil, "\(path)")
      names.insert(URL(filePath: path).lastPathComponent)
    }
    return names
  }

  @Test("A phone, and whoever asks it, write nothing of what was said") func aPhone() async throws {
    let phone = try start(["phone", "--link", "gatt", "--state", folder + "/home/phone"], at: 0)
    defer { phone.kill() }
    while try await !phone.firstLine().contains("access open") {}
    try await ask(["--direct"], at: 1)
    try expectSilence()
    phone.signal(SIGTERM)
    #expect(await phone.outcome().status == 0)
    try expectSilence()
    try await end()
  }

  @Test("An agent in the mode Bluetooth Local, and a central, write nothing of what was said") func anAgent()
    async throws
  {
    guard case .address(let bus) = air.lab.bus else { throw MissingProgram("a bus of its own") }
    let agent = try start(["agent", "--bus", bus, "--state", folder + "/home/agent"], at: 0)
    defer { agent.kill() }
    while try await !agent.firstLine().contains("mode Off") {}
    #expect(await (try start(["mode", "local", "--bus", bus])).outcome().status == 0)
    let central = try start(["central", "--port", "0", "--json", "--state", folder + "/home/central"], at: 1)
    defer { central.kill() }
    let port = try await central.ports(in: "serving")[0]
    var line = ""
    while field("state", of: line) != "ready" { line = try await central.firstLine() }
    try await ask(["--central-url", "http://127.0.0.1:\(port)"])
    #expect(try expectSilence().isSuperset(of: ["events.jsonl", "mode.json"]))
    for process in [central, agent] {
      process.signal(SIGTERM)
      #expect(await process.outcome().status == 0)
    }
    try expectSilence()
    try await end()
  }

  private func end() async throws {
    try await air.stop()
    try FileManager.default.removeItem(atPath: folder)
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../../.build/debug/edgeblue").standardized.path
