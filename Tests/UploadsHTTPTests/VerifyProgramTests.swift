import Foundation
import SystemTesting
import Testing
import UploadsTesting

@testable import Uploads

@Suite(
  "The built command `edgeblue uploads`, at a server whose objects change",
  .enabled(if: SeaweedFS.isThere, "needs SeaweedFS: scripts/python-peers"),
  .enabled(if: Program.isThere, "needs the command: swift build"), .timeLimit(.minutes(5)))
struct VerifyProgramTests {
  private let folder: TemporaryFolder
  private let server: SeaweedFS

  init() async throws {
    folder = try TemporaryFolder()
    server = try await SeaweedFS.running()
  }

  private func run(_ words: String...) async throws -> (status: Int32, output: String, errors: String) {
    let environment = [
      "AWS_ACCESS_KEY_ID": SeaweedFS.writer.accessKey, "AWS_SECRET_ACCESS_KEY": SeaweedFS.writer.secretKey,
      "HOME": folder.path,
    ]
    let words = words + ["--state", folder.path + "/state"]
    return await (try ChildProcess(Program.path, words, environment: environment, errors: .kept)).outcome()
  }

  private func upload(_ name: String, _ more: String...) async throws {
    let file = try folder.file(name, 100, seed: 1)
    let words = [
      "upload", file, "--bucket", SeaweedFS.bucket, "--prefix", "verified/", "--endpoint", server.address, "--state",
      folder.path + "/state",
    ]
    let environment = [
      "AWS_ACCESS_KEY_ID": SeaweedFS.writer.accessKey, "AWS_SECRET_ACCESS_KEY": SeaweedFS.writer.secretKey,
      "HOME": folder.path,
    ]
    let outcome = await (try ChildProcess(Program.path, words + more, environment: environment, errors: .kept))
      .outcome()
    #expect(outcome.status == 0, "\(outcome.errors)")
  }

  private func damage(_ name: String) async throws {
    _ = try await server.client().put(
      Data("other".utf8), contentType: "text/plain", over: nil, bucket: SeaweedFS.bucket, key: "verified/" + name,
      credentials: SeaweedFS.writer)
  }

  private func delete(_ name: String) async throws {
    try await server.client().delete(
      bucket: SeaweedFS.bucket, key: "verified/" + name, credentials: SeaweedFS.writer)
  }

  @Test("What is absent or different is told, and repaired where the file allows it") func verify() async throws {
    let names = ["same", "absent", "different", "gone"]
    for name in names { try await upload(name, "--replace") }
    #expect(try await run("uploads", "verify").status == 0)
    for name in names.dropFirst() { try await delete(name) }
    try await damage("different")
    let found = try await run("uploads", "verify")
    #expect(found.status == 70)
    #expect(found.errors.contains("3 of 4 objects differ from what was uploaded"), "\(found.errors)")
    let one = try await run("uploads", "verify", "2")
    #expect(one.status == 70)
    #expect(one.errors.contains("1 of 1 object differs from what was uploaded"), "\(one.errors)")
    try FileManager.default.removeItem(atPath: folder.path + "/gone")
    let repaired = try await run("uploads", "verify", "--repair")
    #expect(repaired.status == 70)
    for line in [
      "1      the same  verified/same\n", "2      absent    verified/absent, queued again\n",
      "3      different verified/different, queued again\n",
      "4      absent    verified/gone, and its local file is gone\n", "2 of 4 queued again",
    ] { #expect(repaired.output.contains(line), "\(repaired.output)") }
    #expect(repaired.errors.contains("1 of 4 cannot be repaired, because the local file is gone"))
    let sent = try await run("uploads", "run", "--once", "--wait", "60")
    #expect(sent.status == 0, "\(sent.errors)")
    for name in ["absent", "different"] {
      let bytes = try await server.bytes(of: "verified/" + name)
      #expect(try bytes == Data(contentsOf: URL(filePath: folder.path + "/" + name)), "\(name)")
    }
  }

  /// Adds an item that counts as uploaded.
  private func addDone(_ key: String, _ endpoint: String, account: String = "default") throws {
    let store = try QueueStore(path: folder.path + "/state/uploads.sqlite")
    let content = try ObjectContent(readingFile: try folder.file("done", 100, seed: 1))
    var request = UploadRequest(content, bucket: SeaweedFS.bucket, key: key, account: account)
    request.endpoint = endpoint
    let id = try store.add([request])[0]
    #expect(try store.finish(id, as: .done))
  }

  @Test("Items that cannot be compared are shown and counted, and the others are compared") func verifyTheRest()
    async throws
  {
    try await upload("first", "--replace")
    // Nothing listens there.
    try addDone("verified/unreachable", "http://127.0.0.1:1")
    try addDone("verified/\(UUID().uuidString)-of-ada", server.address, account: "ada")
    try await upload("last", "--replace")
    let some = try await run("uploads", "verify")
    #expect(some.status == 75)
    for line in [
      "1      the same  verified/first\n",
      "2      unknown   verified/unreachable\n       connect to http://127.0.0.1:1: ",
      "       it belongs to the account ada, and not to default\n", "4      the same  verified/last\n",
    ] { #expect(some.output.contains(line), "\(some.output)") }
    #expect(some.errors.contains("2 of 4 could not be verified"), "\(some.errors)")
    try await delete("last")
    let wrong = try await run("uploads", "verify")
    #expect(wrong.status == 70)
    #expect(
      wrong.errors.contains("1 of 4 object differs from what was uploaded; 2 of 4 could not be verified"),
      "\(wrong.errors)")
    #expect(try await run("uploads", "verify", "1").status == 0)
    // The item of the account, and no other, with its credentials.
    let ada = try await run("uploads", "verify", "--account", "ada")
    #expect(ada.output.contains("3      absent "), "\(ada.output)")
    #expect(ada.errors.contains("1 of 4 object differs from what was uploaded; 3 of 4 could not be verified"))
  }

  @Test("--once removes the parts of a dropped item from its server, and an event says so")
  func partsOfDroppedItems() async throws {
    try await upload("first")
    let store = try QueueStore(path: folder.path + "/state/uploads.sqlite")
    let content = try ObjectContent(readingFile: try folder.file("parts", 100, seed: 2))
    var request = UploadRequest(content, bucket: SeaweedFS.bucket, key: "verified/parts", account: "default")
    request.endpoint = server.address
    let id = try store.add([request])[0]
    let client = try server.client()
    let upload = try await client.createMultipart(
      content, bucket: SeaweedFS.bucket, key: request.key, credentials: SeaweedFS.writer)
    let item = try #require(try store.item(id))
    #expect(try store.record(item, at: server.address, uploadID: upload.id, parts: []))
    #expect(try await run("uploads", "drop", "\(id)").status == 0)
    // Without --endpoint: the server is the one with the parts.
    let outcome = try await run("uploads", "run", "--once", "--wait", "60")
    #expect(outcome.status == 0, "\(outcome.errors)")
    let left = try await client.unfinishedUploads(bucket: SeaweedFS.bucket, credentials: SeaweedFS.writer)
    #expect(!left.contains { $0.key == request.key })
    #expect(try store.isIdle(at: server.address))
    #expect(try store.events().last?.kind == .partsRemoved)
    #expect(try await run("uploads", "events").output.contains("removed parts from the server:"))
  }
}
