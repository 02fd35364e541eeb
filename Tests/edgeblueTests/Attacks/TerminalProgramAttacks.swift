import AudioIngest
import AudioIngestTesting
import BlueZ
import EdgeCoder
import Foundation
import MessageSending
import SystemTesting
import Testing
import Timing

/// The built commands among devices whose names and values would control a terminal.
@Suite(
  "Names of devices that control a terminal",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct TerminalProgramAttacks {
  private static let name = "Omi\u{1b}]52;c;cm0gLXJm\u{7}\u{202e}"

  /// A fake BlueZ with a wearable and a phone of that name, and the host between them.
  private struct Air {
    let lab: FakeRadio
    let wearable: FakeWearable
    let kept: [any Sendable]
    let folder: TemporaryFolder

    var host: String { lab.fake.adapters[1].name }
    var recordings: String { folder.path + "/recordings" }

    init() async throws {
      lab = try await FakeRadio(adapters: 3)
      folder = try TemporaryFolder()
      wearable = try await FakeWearable(on: lab.adapters[0], name: TerminalProgramAttacks.name)
      let service = BluetoothUUID(stringLiteral: EdgeCoderUUIDs.service)
      kept = [
        try await lab.adapters[2].offer([LocalService(service, characteristics: [])]),
        try await lab.adapters[2].advertise(.init(name: TerminalProgramAttacks.name, services: [service])),
      ]
    }

    /// Starts a command in text mode.
    func start(_ words: [String]) throws -> ChildProcess {
      guard case .address(let bus) = lab.fake.bus else { throw MissingProgram("a bus of its own") }
      return try ChildProcess(
        program, words, environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus, "HOME": folder.path], errors: .kept)
    }

    /// The option for commands that use the list of bonds: that of this machine is not the test's.
    var state: [String] { ["--state", folder.path + "/state"] }

    /// Runs a command, and checks what it prints.
    func check(_ words: [String], mentions text: String = "Omi\u{fffd}]52;c;cm0gLXJm") async throws {
      let outcome = await (try start(words)).outcome()
      let said = outcome.output + outcome.errors
      TerminalAttacks.expectHarmless(said, words.joined(separator: " "))
      #expect(said.contains(text), "\(words) printed \(said)")
    }
  }

  @Test("scan, inspect, ask and doctor print no name that controls the terminal")
  func lookingIsHarmless() async throws {
    let air = try await Air()
    let address = air.lab.adapters[0].address.description
    let host = ["--adapter", air.host]
    try await air.check(["scan", "--all", "--seconds", "1"] + host)
    try await air.check(["inspect", address] + host)
    try await air.check(["ask", "--direct", "--access", "encrypted", "--wait", "2", "hello"] + host + air.state)
    try await air.check(["record", "--out", air.recordings, "--reserve", "0"] + host)
    try await air.check(["doctor"] + host + air.state, mentions: "bluetoothd")
    try await air.lab.stop()
  }

  @Test("pair prints no name that controls the terminal") func pairingIsHarmless() async throws {
    let air = try await Air()
    let address = air.lab.adapters[0].address.description
    let host = ["--adapter", air.host] + air.state
    // Both ends have the agent of the command.
    try await air.check(["pair", "with", "--yes", address] + host)
    try await air.check(["pair", "list"] + host)
    try await air.check(["pair", "adopt", "--as", "central", address] + host)
    try await air.check(["doctor"] + host, mentions: "bluetoothd")
    try await air.check(["pair", "remove", address] + host)
    try await air.lab.stop()
  }

  @Test("record and segments print no name that controls the terminal") func recordingIsHarmless() async throws {
    let air = try await Air()
    let address = air.lab.adapters[0].address.description
    let record = try air.start(
      ["record", "--out", air.recordings, "--reserve", "0", "--adapter", air.host, "--wearable", address])
    async let recorded = record.outcome()
    defer { record.signal(SIGKILL) }
    try await air.wearable.waitForSubscriber()
    try await air.wearable.send((0..<50).map { Recording.bytes(Recording.ramp($0 * 160..<($0 + 1) * 160)) })
    let folder = air.recordings
    try await eventually("a segment is open") { try SegmentCatalog(path: folder).openCount == 1 }
    record.signal(SIGTERM)
    let outcome = await recorded
    TerminalAttacks.expectHarmless(outcome.output + outcome.errors, "record")
    #expect(outcome.output.contains("Omi\u{fffd}]52;c;"), "\(outcome.output)")
    for command in ["list", "show", "play-info", "repair"] {
      try await air.check(
        ["segments", command, "--in", air.recordings], mentions: command == "repair" ? "intact" : "1")
    }
    try await air.check(["segments", "show", "--in", air.recordings])
    try await air.lab.stop()
  }

  @Test("upload and uploads print no name that controls the terminal") func uploadingIsHarmless() async throws {
    let air = try await Air()
    let file = air.folder.path + "/" + Self.name
    try Data("content".utf8).write(to: URL(filePath: file))
    let queue = ["--bucket", "recordings", "--account", "ada", "--endpoint", "http://127.0.0.1:9"]
    try await air.check(["upload", "--later", file] + queue + air.state)
    for words in [["uploads", "list"], ["uploads", "show", "1"]] { try await air.check(words + air.state) }
    try await air.check(["uploads", "events"] + air.state, mentions: "events")
    try await air.lab.stop()
  }

  /// The failure that the events tell of has the name of the adapter.
  @Test("The agent, status and events print no text that controls the terminal") func theAgentIsHarmless() async throws
  {
    let air = try await Air()
    guard case .address(let bus) = air.lab.fake.bus else { throw MissingProgram("a bus of its own") }
    let agent = try air.start(["agent", "--bus", bus, "--adapter", Self.name] + air.state)
    defer { agent.kill() }
    while try await !agent.firstLine().contains("mode Off") {}
    let mode = try air.start(["mode", "local", "--bus", bus])
    #expect(await mode.outcome().status == 0)
    var line = ""
    while !line.contains("]52;c;cm0gLXJm") { line = try await agent.firstLine() }
    TerminalAttacks.expectHarmless(line, "agent")
    for words in [["status"], ["events"], ["events", "--json"]] {
      let mark = words.contains("--json") ? #"Omi\u001b]52;c;cm0gLXJm"# : "Omi\u{fffd}]52;c;cm0gLXJm"
      try await air.check(words + ["--bus", bus], mentions: mark)
    }
    try await air.lab.stop()
  }

  @Test("messages open prints no text that controls the terminal") func messagesAreHarmless() async throws {
    let commands = try MessagesCommands(program)
    let root = try await commands.setUp(server: "http://127.0.0.1:9")
    let keys = try SignedKeys.read(path: commands.folder + "/keys/keys.json").verified(
      by: RootKey(bytes: [UInt8](try #require(Data(base64Encoded: root)))), atMs: WallClock.unixMilliseconds())
    let segments = try MessageSegments(folder: commands.folder + "/collected")
    let text = TerminalAttacks.sequences.joined(separator: "\n\t") + "\r"
    try segments.append(
      try MessageSealer(keys: keys).message(text, to: "desk", from: try BoxSecretKey().publicKey))
    try segments.finish()
    for (options, mark) in [("", "\u{fffd}]52;c;cm0gLXJm\u{fffd}\n"), (" --json", #"\u001b]52;c;cm0gLXJm\u0007"#)] {
      let said = try await commands.edgeblue(
        "open \(commands.folder)/collected --keys \(commands.folder)/keys" + options)
      TerminalAttacks.expectHarmless(said, "messages open" + options)
      #expect(said.contains(mark), "\(said)")
    }
    try commands.remove()
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../../.build/debug/edgeblue").standardized.path
