import AudioIngest
import AudioIngestTesting
import Foundation
import SystemTesting
import Testing
import Uploads

@testable import edgeblue

/// Root, who looks into the folder of a service.
@Suite(
  "Commands that only look",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct LookingAttacks {
  private let messages: MessagesCommands
  private var folder: String { messages.folder }

  init() throws { messages = try MessagesCommands(program) }

  /// The commands that only look, with what they look at: `FOLDER` is a folder of everything, or an absent one.
  private static let looks: [String: [[String]]] = [
    "ask": [["--central-url", "http://127.0.0.1:9", "hello"]],
    "capture show": [["FOLDER/gone.btsnoop"]],
    "coverage export": [["--state", "FOLDER/state"], ["--received", "--state", "FOLDER/state"]],
    "coverage list": [["--state", "FOLDER/state"]],
    "coverage show": [["--state", "FOLDER/state"]],
    "doctor": [["--state", "FOLDER/state"]],
    "events": [["--bus", "unix:path=/nonexistent"]],
    "inspect": [["00:AA:01:00:00:42", "--wait", "1"]],
    "lifecycle": [["--bus", "unix:path=/nonexistent"]],
    "loop history": [["--state", "FOLDER/state"]],
    "loop status": [["--state", "FOLDER/state"]],
    "messages keys show": [["FOLDER/keys/keys.json", "--root", "ROOT"]],
    "messages open": [["FOLDER/collected", "--keys", "FOLDER/keys"]],
    "messages status": [["--state", "FOLDER/messages"]],
    "pair list": [["--state", "FOLDER/state"]],
    "path": [[]],
    "power": [[]],
    "scan": [["--seconds", "1", "--all"]],
    "segments list": [["--in", "FOLDER/recordings"]],
    "segments play-info": [["--in", "FOLDER/recordings"]],
    "segments show": [["--in", "FOLDER/recordings"]],
    "speedtest history": [["--state", "FOLDER/state"]],
    "speedtest run": [["--server", "127.0.0.1:9", "--no-store"]],
    "speedtest show": [["--state", "FOLDER/state"]],
    "status": [["--bus", "unix:path=/nonexistent"]],
    "tasks list": [["--bus", "unix:path=/nonexistent"]],
    "uploads events": [["--state", "FOLDER/state"]],
    "uploads list": [["--all", "--json", "--state", "FOLDER/state"], ["--state", "FOLDER/state"]],
    "uploads show": [["1", "--state", "FOLDER/state"]],
  ]

  /// Commands that change items of the queue, where there are none.
  private static let changes: [String: [[String]]] = [
    "coverage drop": [["1"]], "coverage send": [[]],
    "loop stop": [[]], "uploads drop": [["1"]], "uploads forget": [["FOLDER/gone"]],
    "uploads move": [["--to", "http://127.0.0.1:9"]], "uploads pause": [["1"]],
    "uploads resume": [[]], "uploads retry": [[], ["1"]], "uploads verify": [[], ["1"]],
  ]

  /// The commands that are for making or changing something.
  private static let makers: Set = [
    "agent run", "agent setup", "capture record", "central", "coverage map", "coverage run", "coverage serve",
    "loop plot", "loop start", "messages collect", "messages keys make",
    "messages relay", "messages run", "messages setup", "messages write", "mode", "pair adopt", "pair open",
    "pair remove", "pair with", "phone", "record", "segments export", "segments plot", "segments repair",
    "speedtest plot", "speedtest serve", "speedtest submit", "tasks expire", "tasks run", "upload", "uploads run",
  ]

  /// The commands that say which folder is empty: it may be another one than their user meant.
  private static let named: Set = [
    "coverage list", "coverage send", "speedtest history", "uploads events", "uploads list",
  ]

  @Test("Each command is known as one that looks, or as one that does not") func eachCommandIsKnown() throws {
    let known = Array(Self.looks.keys) + Self.changes.keys + Self.makers
    #expect(Set(try CommandTree.read().leaves().keys).symmetricDifference(known).isEmpty)
    #expect(Set(known).count == known.count)
    try messages.remove()
  }

  private static func words(_ commands: [String: [[String]]]) -> [[String]] {
    commands.sorted { $0.key < $1.key }.flatMap { name, all in
      all.map { name.split(separator: " ").map(String.init) + $0 }
    }
  }

  /// Runs a command over a folder.
  private func run(_ command: [String], over folder: String, bus: String? = nil) async throws -> String {
    var environment = ["HOME": folder + "/home", "STATE_DIRECTORY": folder + "/state"]
    environment["DBUS_SYSTEM_BUS_ADDRESS"] = bus
    let process = try ChildProcess(
      program, command.map { $0.replacing("FOLDER", with: folder) }, environment: environment, errors: .kept)
    let outcome = await process.outcome()
    return outcome.output + outcome.errors
  }

  @Test("Looking creates no folder and no file, and neither does a change of items that do not exist")
  func nothingIsCreated() async throws {
    let lab = try await FakeRadio()
    guard case .address(let bus) = lab.fake.bus else { throw MissingProgram("a bus of its own") }
    for command in Self.words(Self.looks) + Self.words(Self.changes) {
      let output = try await run(command, over: folder, bus: bus)
      // The command itself finds that there is nothing to change, and not the copy of the queue that it looks at.
      #expect(!output.contains("a copy for looking"), "\(command): \(output)")
      if Self.named.contains(command.prefix(2).joined(separator: " ")), !command.contains("--json") {
        #expect(output.contains(" in \(folder)/state"), "\(command): \(output)")
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty, "\(command)")
    }
    try await lab.stop()
    try messages.remove()
  }

  @Test("Root leaves the folders of a service as they are", .enabled(if: geteuid() == 0, "needs root"))
  func rootLeavesNothing() async throws {
    let key = try await makeEverything()
    let before = try traces()
    #expect(before.count > 20)
    for command in Self.words(Self.looks) {
      let output = try await run(command.map { $0 == "ROOT" ? key : $0 }, over: folder)
      if command == ["uploads", "list", "--state", "FOLDER/state"] { #expect(output.contains("the queue is paused")) }
      if ["segments", "messages"].contains(command[0]) { #expect(!output.isEmpty, "\(command)") }
      #expect(try traces() == before, "\(command)")
    }
    try messages.remove()
  }

  /// Makes a queue, recordings, keys and a sender of another user, and returns the root key.
  private func makeEverything() async throws -> String {
    let key = try await messages.setUp(server: "http://127.0.0.1:9")
    try FileManager.default.moveItem(atPath: folder + "/state", toPath: folder + "/messages")
    let collector = try messages.collect()
    _ = try await collector.ports(in: "listening")
    collector.signal(SIGTERM)
    #expect(await collector.wait() == 0)
    try FileManager.default.createDirectory(atPath: folder + "/state", withIntermediateDirectories: true)
    try { try QueueStore(in: folder + "/state").setPaused(true) }()
    try {
      var recording = try Recording(try SegmentFolder(path: folder + "/recordings", limits: .init(reserve: 0)))
      recording.play(frames: 300)
      recording.recorder.end(.shutdown, at: recording.moment)
    }()
    let owner: [FileAttributeKey: Any] = [.ownerAccountID: 1234, .groupOwnerAccountID: 567]
    for path in try FileManager.default.subpathsOfDirectory(atPath: folder) {
      try FileManager.default.setAttributes(owner, ofItemAtPath: "\(folder)/\(path)")
    }
    return key
  }

  /// What a command would leave: names, owners, modes, sizes, times and contents.
  private func traces() throws -> [String: String] {
    let paths = try FileManager.default.subpathsOfDirectory(atPath: folder)
    let traces = try paths.map { path in
      var status = stat()
      guard lstat("\(folder)/\(path)", &status) == 0 else { throw POSIXError(.ENOENT) }
      let contents = FileManager.default.contents(atPath: "\(folder)/\(path)")?.hashValue ?? 0
      let fields = [
        Int(status.st_ino), Int(status.st_uid), Int(status.st_mode), status.st_size, status.st_mtim.tv_sec,
        status.st_mtim.tv_nsec, contents,
      ]
      return (path, "\(fields)")
    }
    return Dictionary(uniqueKeysWithValues: traces)
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../../.build/debug/edgeblue").standardized.path
