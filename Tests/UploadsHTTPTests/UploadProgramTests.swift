import Foundation
import SystemTesting
import Testing
import Timing
import UploadsTesting

@testable import Uploads

@Suite(
  "The built command `edgeblue upload`, at a real server",
  .enabled(if: SeaweedFS.isThere, "needs SeaweedFS: scripts/python-peers"),
  .enabled(if: Program.isThere, "needs the command: swift build"), .timeLimit(.minutes(5)))
struct UploadProgramTests {
  private let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func upload(
    _ files: [String], _ more: String..., bucket: String? = SeaweedFS.bucket
  ) async throws -> (status: Int32, output: String, errors: String) {
    try await run(["upload"] + files + (bucket.map { ["--bucket", $0] } ?? []) + ["--json"] + more)
  }

  private func run(_ words: [String]) async throws -> (status: Int32, output: String, errors: String) {
    let words = words + ["--state", folder.path + "/state"]
    let environment = [
      "AWS_ACCESS_KEY_ID": SeaweedFS.writer.accessKey, "AWS_SECRET_ACCESS_KEY": SeaweedFS.writer.secretKey,
      "HOME": folder.path,
    ]
    return try await ChildProcess(Program.path, words, environment: environment, errors: .kept).outcome()
  }

  @Test("Many files are read while the first ones are uploaded") func manyFilesAreReadWhileTheFirstOnesAreUploaded()
    async throws
  {
    let server = try await SeaweedFS.running()
    let files = try (0..<40).map { try folder.file("\($0).bin", $0 == 20 ? 17 << 20 : 1000 * $0, seed: UInt64($0)) }
    let first = try await upload(files, "--prefix", "many/", "--endpoint", server.address)
    #expect(first.status == 0, "\(first.errors)")
    #expect(first.output.split(separator: "\n").count { $0.contains(#""event":"uploaded""#) } == 40)
    for file in files {
      let name = URL(filePath: file).lastPathComponent
      #expect(try await server.bytes(of: "many/" + name) == Data(contentsOf: URL(filePath: file)), "\(name)")
    }
    // Again: they are there, and nothing is sent.
    let proxy = try FaultProxy(before: server.port)
    let again = try await upload(files, "--prefix", "many/", "--endpoint", "http://127.0.0.1:\(proxy.port)")
    #expect(again.status == 0, "\(again.errors)")
    #expect(again.output.split(separator: "\n").count { $0.contains(#""event":"uploaded""#) } == 40, "\(again.errors)")
    #expect(proxy.partsOfQuestion.count <= 1)
    #expect(proxy.writtenObjects.isEmpty)
    // A server that cannot be reached has nothing, whatever another one has.
    let nowhere = try await upload([files[0]], "--prefix", "many/", "--endpoint", "http://127.0.0.1:1", "--wait", "1")
    #expect(nowhere.status == 75, "\(nowhere.output)")
    #expect(!nowhere.output.contains(#""event":"uploaded""#))
  }

  @Test("A file whose name is not UTF-8 keeps no other from being uploaded")
  func anOddNameStopsNoOther() async throws {
    let server = try await SeaweedFS.running()
    let file = try folder.file("one.bin", 100, seed: 1)
    // A shell hands the bytes over as they are.
    let shell = try ChildProcess(
      "sh",
      [
        "-c", #"touch "$1/$(printf 'caf\351')"; shift; exec "$@" "$0/one.bin" "$0/$(printf 'caf\351')""#, folder.path,
        folder.path, Program.path, "upload", "--bucket", SeaweedFS.bucket, "--prefix", "odd/", "--endpoint",
        server.address, "--state", folder.path + "/state",
      ],
      environment: [
        "AWS_ACCESS_KEY_ID": SeaweedFS.writer.accessKey, "AWS_SECRET_ACCESS_KEY": SeaweedFS.writer.secretKey,
        "HOME": folder.path, "PATH": "/usr/bin:/bin",
      ], errors: .kept)
    let outcome = await shell.outcome()
    #expect(outcome.status == 65)
    #expect(outcome.errors.contains("not UTF-8"), "\(outcome.errors)")
    #expect(try await server.bytes(of: "odd/one.bin") == Data(contentsOf: URL(filePath: file)))
  }

  /// Root may write everywhere; a folder that is mounted for reading only stays as it is for root, too.
  @Test(
    "A folder that cannot be written to does not keep --remove waiting",
    .enabled(if: SmallDisk.isPossible, "needs to be allowed to mount a disk in memory"))
  func anUnwritableFolderEndsTheWait() async throws {
    let server = try await SeaweedFS.running()
    let disk = try SmallDisk(megabytes: 1)
    let file = disk.path + "/stays.bin"
    try Data("it stays".utf8).write(to: URL(filePath: file))
    try disk.protect()
    let outcome = try await upload([file], "--remove", "--prefix", "stays/", "--endpoint", server.address)
    #expect(outcome.status == 70, "\(outcome.output)")
    #expect(outcome.output.contains(#""event":"unsettled""#))
    #expect(outcome.errors.contains("1 of 1 uploaded, but the local file stays"), "\(outcome.errors)")
    #expect(!outcome.errors.contains("retry"))
    let store = try QueueStore(path: folder.path + "/state/uploads.sqlite")
    #expect(try store.items(in: [.delivered]).first?.problem?.contains("Read-only file system") == true)
    #expect(try store.events().contains { $0.kind == .unsettled })
    #expect(try await server.bytes(of: "stays/stays.bin") == Data("it stays".utf8))
  }

  @Test("Invalid input and failed items are reported") func whatCannotBeIsSaidSo() async throws {
    let server = try await SeaweedFS.running()
    let file = try folder.file("one.bin", 100, seed: 1)
    let missing = try await upload([file, folder.path + "/two.bin"], "--endpoint", server.address)
    #expect(missing.status == 69)
    #expect(missing.errors.contains("does not exist"))
    let isFolder = try await upload([folder.path], "--endpoint", server.address)
    #expect(isFolder.status == 65)
    #expect(isFolder.errors.contains("is a folder"))
    // Nothing of it was queued.
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/state"))
    let refused = try await upload([file], "--endpoint", server.address, bucket: "no-such-bucket")
    #expect(refused.status == 70, "\(refused.errors)")
    #expect(refused.errors.contains("1 of 1 could not be uploaded"), "\(refused.errors)")
    #expect(try QueueStore(path: folder.path + "/state/uploads.sqlite").totals().items == [.failed: 1])
  }

  /// A bucket and a prefix that nobody has named but the service that gives the credentials.
  @Test("A token service names the bucket and the prefix") func aTokenServiceSaysWhereTo() async throws {
    let server = try await SeaweedFS.running()
    let service = try FaultProxy(before: 1) { _, _ in
      .answer(
        200,
        """
        {"access_key_id": "\(SeaweedFS.writer.accessKey)", "secret_access_key": "\(SeaweedFS.writer.secretKey)",
         "bucket": "\(SeaweedFS.bucket)", "prefix": "said/ada/", "region": "us-east-1", "duration_seconds": 3600}
        """)
    }
    let token = folder.path + "/token"
    try Data("who-I-am\n".utf8).write(to: URL(filePath: token))
    let file = try folder.file("talk.wav", 1000, seed: 1)
    let outcome = try await upload(
      [file], "--token-service", "http://127.0.0.1:\(service.port)/", "--token-file", token, "--endpoint",
      server.address, bucket: nil)
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(try await server.bytes(of: "said/ada/talk.wav") == Data(contentsOf: URL(filePath: file)))
    let nowhere = try await upload([file], bucket: nil)
    #expect(nowhere.status == 64, "\(nowhere.errors)")
    #expect(nowhere.errors.contains("--bucket or --token-service is required"), "\(nowhere.errors)")
  }

  /// What was under way when its program was killed waits, and what a person does is told to programs.
  @Test("The list shows items that no process uploads as waiting") func theListTellsTheTruth() async throws {
    let server = try await SeaweedFS.running()
    let stalled = try FaultProxy(before: server.port) { _, _ in .stall }
    let file = try folder.file("one.bin", 100, seed: 1)
    #expect(try await upload([file], "--later").status == 0)
    let state = folder.path + "/state"
    let program = try ChildProcess(
      Program.path, ["uploads", "run", "--state", state, "--endpoint", "http://127.0.0.1:\(stalled.port)"],
      environment: [
        "AWS_ACCESS_KEY_ID": SeaweedFS.writer.accessKey, "AWS_SECRET_ACCESS_KEY": SeaweedFS.writer.secretKey,
        "HOME": folder.path,
      ], output: .discarded)
    let store = try QueueStore(path: state + "/uploads.sqlite")
    while try store.uploader?.running[1] == nil || store.item(1)?.state != .uploading {
      try await Task.sleep(for: .milliseconds(20), clock: .steady)
    }
    #expect(try await run(["uploads", "list", "--json"]).output.contains(#""state":"uploading""#))
    #expect(try await run(["uploads", "list"]).output.hasSuffix("1 uploading (100 B)\n"))
    program.kill()
    _ = await program.outcome()
    #expect(try store.item(1)?.state == .uploading)
    #expect(try store.uploader == nil)
    #expect(try await run(["uploads", "show", "1", "--json"]).output.contains(#""state":"waiting""#))
    let list = try await run(["uploads", "list"]).output
    #expect(list.contains("1 waiting (100 B)\nno process uploads the queue"), "\(list)")
    for (words, told) in [
      (["pause"], #"{"paused":true}"#), (["resume"], #"{"paused":false}"#), (["pause", "1"], #""state":"paused""#),
      (["resume", "1"], #""state":"waiting""#), (["retry", "1"], #""state":"waiting""#),
      (["drop", "1"], #""state":"dropped""#),
    ] {
      let outcome = try await run(["uploads"] + words + ["--json"])
      #expect(outcome.status == 0, "\(words): \(outcome.output)")
      #expect(outcome.output.contains(told), "\(words): \(outcome.output)")
      #expect(outcome.output.split(separator: "\n").count == 1)
    }
    #expect(try await run(["uploads", "list"]).output == "nothing is queued in \(folder.path)/state\n")
  }
}
