import Foundation
import SystemTesting
import Testing
import UploadsTesting

@testable import Uploads

@Suite(
  "What the built commands `edgeblue upload` and `uploads` say and how they end",
  .enabled(if: Program.isThere, "needs the command: swift build"), .timeLimit(.minutes(5)))
struct UploadsProgramTests {
  private let folder: TemporaryFolder
  private static let keys = ["AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"]
  init() throws { folder = try TemporaryFolder() }

  private func begin(
    _ words: [String], state: String? = nil, _ variables: [String: String] = keys
  ) throws -> ChildProcess {
    let environment = variables.merging(["HOME": folder.path]) { $1 }
    return try ChildProcess(
      Program.path, words + ["--state", state ?? folder.path + "/state"], environment: environment, errors: .kept)
  }

  private func run(
    _ words: String..., variables: [String: String] = keys
  ) async throws -> (status: Int32, output: String, errors: String) {
    await (try begin(words, variables)).outcome()
  }

  /// Queues a file for a server that nobody asks.
  private func queue(_ more: String...) async throws {
    let file = try folder.file("f", 100, seed: 1)
    let words = ["upload", file, "--bucket", "bucket", "--later", "--endpoint", "http://127.0.0.1:1"]
    #expect(await (try begin(words + more)).outcome().status == 0)
  }

  private func store() throws -> QueueStore { try QueueStore(path: folder.path + "/state/uploads.sqlite") }

  private func runOnce() async throws -> (status: Int32, output: String, errors: String) {
    try await run("uploads", "run", "--once", "--endpoint", "http://127.0.0.1:1", "--wait", "60")
  }

  @Test("A port that no server can have, and a password, are refused in words")
  func impossibleServers() async throws {
    try await queue()
    let file = folder.path + "/f"
    let impossible = "http://127.0.0.1:99999"
    for outcome in [
      try await run("upload", file, "--bucket", "bucket", "--endpoint", impossible),
      try await run("uploads", "move", "--to", impossible), try await run("uploads", "run", "--endpoint", impossible),
      try await run(
        "upload", file, "--bucket", "bucket", variables: Self.keys.merging(["AWS_ENDPOINT_URL": impossible]) { $1 }),
    ] {
      #expect(outcome.status == 65)
      #expect(outcome.errors.contains("allowed: a port from 1 to 65535"), "\(outcome.errors)")
    }
    let secret = try await run("upload", file, "--bucket", "bucket", "--endpoint", "https://ada:MARKED@host")
    #expect(secret.status == 65)
    #expect(!(secret.output + secret.errors).contains("MARKED"))
    #expect(try store().items(in: [.waiting]).map(\.request.endpoint) == ["http://127.0.0.1:1"])
  }

  @Test(
    "A command ends when a user takes away what it waits for",
    arguments: [
      (["drop", "1"], "1 of 1 dropped by a user", 70), (["pause", "1"], "1 of 1 paused by a user", 75),
      (["move", "1", "--to", "http://127.0.0.1:1"], "1 of 1 moved to another server by a user", 75),
      (["pause"], "the queue is paused", 75),
    ] as [([String], String, Int32)])
  func takenAway(words: [String], told: String, status: Int32) async throws {
    let stalled = try FaultProxy(before: 1) { _, _ in .stall }
    let file = try folder.file("f", 100, seed: 1)
    let address = "http://127.0.0.1:\(stalled.port)"
    let program = try begin(["upload", file, "--bucket", "bucket", "--endpoint", address])
    try await eventually("the item is being uploaded") {
      try QueueStore.copy(of: folder.path + "/state/uploads.sqlite").items(in: [.uploading]).count == 1
    }
    #expect(await (try begin(["uploads"] + words)).outcome().status == 0)
    let outcome = await program.outcome()
    #expect(outcome.status == status)
    #expect(outcome.errors.contains(told), "\(outcome.errors)")
  }

  @Test("--once ends with what is left, and a status that says so")
  func whatIsLeft() async throws {
    try await queue()
    #expect(try await run("uploads", "pause").status == 0)
    let paused = try await runOnce()
    #expect(paused.status == 75)
    #expect(paused.errors.contains("the queue is paused"), "\(paused.errors)")
    #expect(try await run("uploads", "resume").status == 0)
    #expect(try await run("uploads", "pause", "1").status == 0)
    let item = try await runOnce()
    #expect(item.status == 75)
    #expect(item.errors.contains("1 item paused"), "\(item.errors)")
    #expect(try await run("uploads", "resume", "1").status == 0)
    let elsewhere = try await run("uploads", "run", "--once", "--endpoint", "http://127.0.0.1:2", "--wait", "60")
    #expect(elsewhere.status == 75)
    #expect(elsewhere.errors.contains("items waiting for http://127.0.0.1:1"), "\(elsewhere.errors)")
    let store = try store()
    _ = try store.begin(1)
    try store.giveUp(1, "for a test")
    let failed = try await runOnce()
    #expect(failed.status == 70)
    #expect(failed.errors.contains("1 item failed earlier"), "\(failed.errors)")
    #expect(try await run("uploads", "drop", "1").status == 0)
    #expect(try await runOnce().status == 0)
  }

  @Test("A failure that repeats the last one before the start is reported") func repeatedFailure() async throws {
    try await queue()
    for _ in 1...2 {
      let outcome = try await run(
        "uploads", "run", "--once", "--endpoint", "http://127.0.0.1:1", "--wait", "5", "--json")
      #expect(outcome.output.contains(#""event":"retrying""#), "\(outcome.output)")
      #expect(try await run("uploads", "retry").status == 0)
    }
    let events = try store().events().filter { $0.kind == .failed }
    #expect(events.contains { $0.times > 1 })
  }

  @Test("--once tells each problem with recordings once, and its status says so")
  func problemsOfRecordings() async throws {
    try await queue()
    let store = try store()
    try store.drop(1)
    let damaged = folder.path + "/damaged"
    try FileManager.default.createDirectory(atPath: damaged, withIntermediateDirectories: true)
    try Data("RIFF".utf8).write(to: URL(filePath: damaged + "/1.wav"))
    for name in [damaged, folder.path + "/gone"] {
      try store.remember(UploadSource(folder: name, bucket: "bucket", account: "default"))
    }
    let outcome = try await runOnce()
    #expect(outcome.status == 70)
    #expect(outcome.errors.contains("2 problems with recordings"), "\(outcome.errors)")
    let lines = outcome.output.split(separator: "\n")
    #expect(lines.count { $0.contains("/gone is gone; `edgeblue uploads forget ") } == 1, "\(outcome.output)")
    #expect(lines.count { $0.contains("1.wav has no sidecar that describes it") } == 1, "\(outcome.output)")
  }

  @Test("A folder of recordings that is gone can be forgotten, by its name in any form")
  func foldersAreForgotten() async throws {
    try await queue()
    let store = try store()
    try store.drop(1)
    let gone = folder.path + "/gone"
    for form in ["/gone", "/gone/", "/./gone"] {
      try store.remember(UploadSource(folder: gone, bucket: "bucket", account: "default"))
      #expect(try await runOnce().status == 70)
      let unknown = try await run("uploads", "forget", folder.path + "/other")
      #expect(unknown.status == 65)
      #expect(unknown.errors.contains("it knows \(gone)"), "\(unknown.errors)")
      let forgotten = try await run("uploads", "forget", folder.path + form, "--json")
      #expect(forgotten.status == 0, "\(forgotten.errors)")
      #expect(forgotten.output.contains(#""state":"forgotten""#))
      #expect(try store.sources() == [])
      #expect(try await runOnce().status == 0)
    }
  }

  @Test("A file whose name is not UTF-8 is named in the events, and stops no other")
  func oddNamesAreEvents() async throws {
    try await queue()
    let state = folder.path + "/state"
    for _ in 0..<2 {
      let shell = try ChildProcess(
        "sh",
        [
          "-c", #"cd "$0"; odd="$(printf 'caf\351\033[2J')"; touch "$odd"; exec "$@" "$odd" f"#, folder.path,
          Program.path, "upload", "--bucket", "bucket", "--prefix", "odd/", "--later", "--state", state,
        ], environment: ["HOME": folder.path, "PATH": "/usr/bin:/bin"], errors: .kept)
      let outcome = await shell.outcome()
      #expect(outcome.status == 65, "\(outcome.errors)")
      #expect(outcome.output.contains("f: queued as item"), "\(outcome.output)")
    }
    let name = "caf\u{fffd}\u{fffd}[2J"
    let events = try await run("uploads", "events")
    #expect(events.status == 0)
    // Lines are broken at 80 columns.
    let words = events.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(words.contains("the queue did not take a file: \(name): its name is not UTF-8"), "\(words)")
    #expect(words.contains("(2 times since "), "\(words)")
    let lines = try await run("uploads", "events", "--json").output.split(separator: "\n")
    let event = try #require(lines.last { $0.contains(#""event":"notQueued""#) })
    let fields = try #require(try JSONSerialization.jsonObject(with: Data(event.utf8)) as? [String: Any])
    #expect(fields["reason"] as? String == "\(name): its name is not UTF-8")
  }

  @Test("An item of an account without credentials has its reason in every list")
  func missingCredentials() async throws {
    try await queue("--account", "other")
    let other = try await runOnce()
    #expect(other.status == 75)
    #expect(other.output.contains("account other waits for credentials: the program that uploads"), "\(other.output)")
    #expect(other.errors.contains("1 item waiting for credentials of the account other"), "\(other.errors)")
    for words in [["uploads"], ["uploads", "show", "1"], ["uploads", "list", "--json"]] {
      let list = await (try begin(words)).outcome().output
      #expect(list.contains("the account other waits for credentials"), "\(list)")
    }
    let none = try await run(
      "uploads", "run", "--account", "other", "--endpoint", "http://127.0.0.1:1", "--wait", "1", variables: [:])
    #expect(none.status == 75)
    let list = try await run("uploads").output
    #expect(list.contains("the account other waits for credentials"), "\(list)")
    #expect(!list.contains("the program that uploads"), "\(list)")
  }

  @Test("A missing permission is not called missing credentials") func permissions() async throws {
    let server = try FaultProxy(before: 1) { _, _ in .answer(403, "<Error><Code>AccessDenied</Code></Error>") }
    let file = try folder.file("f", 100, seed: 1)
    let outcome = try await run(
      "upload", file, "--bucket", "bucket", "--endpoint", "http://127.0.0.1:\(server.port)", "--wait", "5")
    #expect(outcome.status == 75)
    #expect(outcome.output.contains("AccessDenied"), "\(outcome.output)")
    #expect(!outcome.output.contains("waits for credentials"), "\(outcome.output)")
    let events = try await run("uploads", "events").output
    #expect(events.contains("failed (permission)"), "\(events)")
    #expect(!events.contains("waits for credentials"), "\(events)")
  }

  @Test("A proxy that does not respond is named, and not the server") func anAbsentProxy() async throws {
    let file = try folder.file("f", 100, seed: 1)
    let outcome = try await run(
      "upload", file, "--bucket", "bucket", "--endpoint", "https://store.example", "--wait", "5",
      variables: Self.keys.merging(["https_proxy": "http://ada:MARKED@127.0.0.1:1"]) { $1 })
    #expect(outcome.status == 75)
    #expect(outcome.output.contains("the proxy http://127.0.0.1:1 does not respond"), "\(outcome.output)")
    #expect(!outcome.output.contains("MARKED"))
  }

  @Test(
    "The program trusts the certificates of --ca and AWS_CA_BUNDLE",
    .enabled(if: SeaweedFS.isThere, "needs SeaweedFS: scripts/python-peers"))
  func ownAuthorities() async throws {
    let server = try await SeaweedFS(isSecured: true)
    let authority = try #require(server.certificate)
    let file = try folder.file("trusted", 100, seed: 1)
    let keys = [
      "AWS_ACCESS_KEY_ID": SeaweedFS.writer.accessKey, "AWS_SECRET_ACCESS_KEY": SeaweedFS.writer.secretKey,
    ]
    let words = ["upload", file, "--bucket", SeaweedFS.bucket, "--endpoint", server.address, "--wait"]
    let none = await (try begin(words + ["5"], keys)).outcome()
    #expect(none.status == 75)
    #expect(none.output.contains("does not trust the authority"), "\(none.output)")
    let named = await (try begin(words + ["60", "--ca", authority], keys)).outcome()
    #expect(named.status == 0, "\(named.output)")
    let variable = keys.merging(["AWS_CA_BUNDLE": authority]) { $1 }
    let bundle = await (try begin(words + ["60", "--prefix", "bundle/"], variable)).outcome()
    #expect(bundle.status == 0, "\(bundle.output)")
    let useless = await (try begin(words + ["60", "--ca", folder.path + "/absent"], keys)).outcome()
    #expect(useless.status == 65)
    #expect(useless.errors.contains("\(folder.path)/absent: no such file or directory"), "\(useless.errors)")
  }

  @Test(
    "On a full disk the reason is told once, in plain words",
    .enabled(if: SmallDisk.isPossible, "needs to be allowed to mount a disk in memory"),
    .enabled(if: SeaweedFS.isThere, "needs SeaweedFS: scripts/python-peers"))
  func aFullDisk() async throws {
    let server = try await SeaweedFS.running()
    let disk = try SmallDisk(megabytes: 3)
    let files = try (0..<3).map { try folder.file("full\($0)", 1000, seed: UInt64($0)) }
    let variables = [
      "AWS_ACCESS_KEY_ID": SeaweedFS.writer.accessKey, "AWS_SECRET_ACCESS_KEY": SeaweedFS.writer.secretKey,
    ]
    let words = ["upload"] + files + ["--bucket", SeaweedFS.bucket, "--endpoint", server.address, "--later"]
    #expect(await (try begin(words, state: disk.path, variables)).outcome().status == 0)
    // Space for records that opening the queue would free.
    try FileManager.default.removeItem(atPath: disk.path + "/uploads.sqlite.reserve")
    try disk.fill()
    let run = ["uploads", "run", "--once", "--wait", "8"]
    let outcome = await (try begin(run, state: disk.path, variables)).outcome()
    #expect(outcome.status == 75, "\(outcome.output)")
    let said = "what is uploaded cannot be recorded: there is no space left on the disk"
    #expect(outcome.output.split(separator: "\n").count { $0.contains(said) } == 1, "\(outcome.output)")
    let problems = outcome.errors.split(separator: "\n").filter { $0.contains("no space") }
    #expect(problems.count <= 2, "\(outcome.errors)")
    #expect(!(outcome.output + outcome.errors).contains("database"))
    let list = await (try begin(["uploads"], state: disk.path)).outcome().output
    #expect(list.contains("the disk of the queue is full"), "\(list)")
    let bytes = try await server.bytes(of: "full2")
    #expect(bytes.count == 1000)
  }
}
