import AudioIngestTesting
import DBusTesting
import EdgeCoder
import Foundation
import MessageSending
import MessageSendingHTTP
import SystemTesting
import Testing

@testable import edgeblue

/// Other users of the host, where the user's umask hides nothing from them.
@Suite(
  "Modes of files and folders",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct FileModeAttacks {
  private let messages: MessagesCommands
  private var root: String { messages.folder + "/made" }

  init() throws {
    messages = try MessagesCommands(program)
    try FileManager.default.createDirectory(
      atPath: messages.folder + "/made", withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  /// Starts a command with a umask of zero.
  private func start(_ words: [String], bus: String = "unix:path=/nonexistent") throws -> ChildProcess {
    try ChildProcess(
      "sh", ["-c", #"umask 0; exec "$0" "$@""#, program] + words,
      environment: ["HOME": root, "PATH": "/usr/bin:/bin", "DBUS_SYSTEM_BUS_ADDRESS": bus], errors: .discarded)
  }

  private func run(_ words: [String]) async throws {
    let status = await (try start(words)).outcome().status
    #expect(status == 0, "\(words)")
  }

  /// Ends a command that runs until it is told to end.
  private func end(_ process: ChildProcess) async {
    process.signal(SIGTERM)
    let status = await process.outcome().status
    #expect(status == 0)
  }

  /// Expects that the owner alone may use what is below the folder, and that files with these names are among it.
  private func expectPrivate(_ names: String...) throws {
    var found: Set<String> = []
    for path in try FileManager.default.subpathsOfDirectory(atPath: root) {
      let attributes = try FileManager.default.attributesOfItem(atPath: "\(root)/\(path)")
      let isFolder = attributes[.type] as? FileAttributeType == .typeDirectory
      let mode = try #require(attributes[.posixPermissions] as? Int)
      #expect(mode == (isFolder ? 0o700 : 0o600), "\(path) has the mode \(String(mode, radix: 8))")
      found.insert(String(path.split(separator: "/").last ?? ""))
    }
    for name in names { #expect(found.contains(name), "no \(name) in \(found.sorted())") }
  }

  @Test("The queue of uploads is for its user, also while it is in use") func uploads() async throws {
    let queue = ["--state", root + "/state", "--endpoint", "http://127.0.0.1:9"]
    let file = messages.folder + "/file"
    try Data([1]).write(to: URL(filePath: file))
    try await run(["upload", file, "--bucket", "bucket", "--later"] + queue)
    let running = try start(["uploads", "run", "--metrics-port", "0", "--json"] + queue)
    defer { running.kill() }
    // The index of the log exists while a program has the file open.
    _ = try await running.ports(in: "metrics")
    try await eventually("the queue is in use") {
      FileManager.default.fileExists(atPath: root + "/state/uploads.sqlite-shm")
    }
    try expectPrivate("uploads.sqlite", "uploads.sqlite-wal", "uploads.sqlite-shm", "uploads.sqlite.lock")
    await end(running)
    try messages.remove()
  }

  @Test("The state of the agent is for its user") func agent() async throws {
    let bus = try PrivateBus()
    let agent = try start(
      [
        "agent", "--bus", bus.address, "--state", root + "/state", "--coordinator", "http://127.0.0.1:9",
        "--test-coordinator",
      ],
      bus: bus.address)
    defer { agent.kill() }
    _ = try await agent.firstLine()
    try await run(["mode", "on", "--bus", bus.address])
    try await run(["lifecycle", "background", "--bus", bus.address])
    try await eventually("the session is stored") {
      FileManager.default.fileExists(atPath: root + "/state/coordinator.json")
    }
    await end(agent)
    try expectPrivate(
      "identity.json", "coordinator.json", "mode.json", "lifecycle.json", "tasks.json", "events.jsonl", "results",
      "lock")
    try messages.remove()
  }

  @Test("Keys, senders, and what is collected, are for their user") func messageFiles() async throws {
    let collector = try start(["messages", "collect", "--to", root + "/collected", "--port", "0", "--json"])
    defer { collector.kill() }
    let server = "http://127.0.0.1:\(try await collector.ports(in: "listening")[0])"
    let message = try SealedMessage(bytes: [UInt8](repeating: 7, count: SealedMessage.byteCount))
    try await HTTPMessageTransport(server).send(message)
    await end(collector)
    try await messages.setUp(server: server)
    for name in ["keys", "state"] {
      try FileManager.default.moveItem(atPath: "\(messages.folder)/\(name)", toPath: "\(root)/\(name)")
    }
    try expectPrivate("root.key", "node-1.key", "recipient-desk.key", "keys.json", "settings.json", "queue", "vault")
    let segment = try #require(try MessageSegments.paths(in: root + "/collected").first)
    #expect(segment.hasPrefix(root))
    // A relay needs a controller; its queue does not.
    try RelayQueue(folder: root + "/relay", covers: NoCovers()).append(message)
    try expectPrivate("item-0000000001.box")
    try messages.remove()
  }

  private struct NoCovers: CoverSource {
    func cover() throws(MessageSendingError) -> SealedMessage {
      throw MessageSendingError(.notSent, "none is needed")
    }
  }

  @Test("Recordings, what is exported and drawn of them, and bonds are for their user") func recordings() async throws {
    let lab = try await FakeRadio()
    guard case .address(let bus) = lab.fake.bus else { throw MissingProgram("a bus of its own") }
    let wearable = try await FakeWearable(on: lab.adapters[0])
    let recorder = try start(
      [
        "record", "--out", root + "/recordings", "--adapter", lab.fake.adapters[1].name, "--reserve", "0", "--wearable",
        lab.adapters[0].address.description,
      ], bus: bus)
    defer { recorder.kill() }
    try await wearable.waitForSubscriber()
    try await wearable.send((0..<50).map { Recording.bytes(Recording.ramp($0 * 160..<($0 + 1) * 160)) })
    let open = root + "/recordings/open"
    try await eventually("a segment is open") {
      try FileManager.default.contentsOfDirectory(atPath: open).contains { $0.hasSuffix(".part") }
    }
    try expectPrivate("devices", "open", "lock")
    await end(recorder)
    try await run(["segments", "export", "--in", root + "/recordings", "-o", root + "/exported"])
    try await run(["segments", "export", "--in", root + "/recordings", "--join", "-o", root + "/day.flac"])
    try await run(["segments", "plot", "--in", root + "/recordings", "-o", root + "/picture.svg"])
    try BondStore(folder: root + "/bonds").add(
      .init(adapter: lab.adapters[1].address, peer: lab.adapters[0].address, role: .central))
    try expectPrivate("recordings", "exported", "day.flac", "picture.svg", "bonds.json")
    let ends = Set(
      try FileManager.default.subpathsOfDirectory(atPath: root).compactMap { $0.split(separator: ".").last })
    #expect(ends.isSuperset(of: ["wav", "json"]))
    try await lab.stop()
    try messages.remove()
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../../.build/debug/edgeblue").standardized.path
