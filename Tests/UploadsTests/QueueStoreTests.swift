import Foundation
import GRDB
import Testing
import UploadsTesting

@testable import Uploads

/// The queue's records on disk.
@Suite("The store") struct QueueStoreTests {
  private let folder: TemporaryFolder
  private let path: String
  init() throws {
    folder = try TemporaryFolder()
    path = folder.path + "/q.sqlite"
  }

  private func request(_ key: String, seed: UInt64 = 1, account: String = "a") throws -> UploadRequest {
    let file = try folder.file("\(key)-\(seed)", 100, seed: seed)
    return UploadRequest(
      try ObjectContent(readingFile: file, metadata: ["zone": "Europe/Zürich"]), bucket: "bucket", key: key,
      account: account)
  }

  @Test("Added items survive the process") func whatWasAddedIsThereForWhoComesNext() throws {
    let wanted = [try request("one"), try request("two", seed: 2)]
    let ids = try QueueStore(path: path).add(wanted)
    let store = try QueueStore(path: path)
    #expect(try store.items(in: [.waiting]).map(\.request) == wanted)
    #expect(try store.items(in: [.waiting]).map(\.id) == ids)
    #expect(try store.totals().bytes == [.waiting: 200])
  }

  /// 2 is FULL.
  @Test("SQLite waits for the disk at each commit") func commitsWaitForTheDisk() throws {
    let store = try QueueStore(path: path)
    func synchronous() throws -> Int? { try store.read { try Int.fetchOne($0, sql: "PRAGMA synchronous") } }
    #expect(try synchronous() == 2)
    let id = try store.add([request("one")])[0]
    #expect(try store.begin(id)?.state == .uploading)
    #expect(try synchronous() == 2)
    #expect(throws: UploadsError.self) {
      try store.write("failing", isDurable: false) { try $0.execute(sql: "no SQL") }
    }
    #expect(try synchronous() == 2)
    #expect(try store.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") } == "wal")
  }

  @Test("An equal request adds no second item, and a different file under its key is refused")
  func nothingIsQueuedTwice() throws {
    let store = try QueueStore(path: path)
    let first = try store.add([request("one")])
    #expect(try store.add([request("one")]) == first)
    let error = #expect(throws: UploadsError.self) { try store.add([request("two"), request("one", seed: 2)]) }
    #expect(error?.code == .alreadyExists)
    #expect(try store.items(in: [.waiting]).map(\.id) == first, "all or none")
    #expect(throws: UploadsError.self) { try store.add([request("one", account: "another")]) }
  }

  @Test("Invalid requests are refused") func whatCannotBeIsRefused() throws {
    let store = try QueueStore(path: path)
    var wrong = [UploadRequest](repeating: try request("one"), count: 9)
    wrong[0].bucket = "No"
    wrong[1].key = ""
    wrong[2].key = String(repeating: "ü", count: 513)
    wrong[3].key = "a/../b"
    wrong[4].content.sha256 = "00"
    wrong[5].content.metadata = ["Name": "x"]
    wrong[6].content.metadata = ["name": String(repeating: "x", count: 2100)]
    wrong[7].account = ""
    wrong[8].content.path = "relative"
    for request in wrong {
      let error = #expect(throws: UploadsError.self) { try store.add([request]) }
      #expect(error?.code == .invalidArgument)
    }
    var missing = try request("one")
    missing.content.path = "/nowhere"
    #expect(throws: UploadsError.self) { try store.add([missing]) }
    #expect(try store.totals().items == [:])
  }

  @Test("A user pauses, resumes, retries and drops an item from another process") func aPersonHoldsRetriesAndDrops()
    throws
  {
    let store = try QueueStore(path: path)
    let other = try QueueStore(path: path)
    let id = try store.add([request("one")])[0]
    let version = try store.version()
    try other.pause(id)
    #expect(try store.version() != version)
    #expect(try store.item(id)?.state == .paused)
    #expect(try store.begin(id) == nil)
    try other.resume(id)
    #expect(try store.begin(id)?.state == .uploading)
    try store.postpone(id, attempts: 3, after: .seconds(1), UploadFailure(kind: .temporary, reason: "busy"))
    #expect(try store.item(id)?.attempts == 3)
    #expect(try store.item(id)?.problem == "busy")
    _ = try store.begin(id)
    try store.giveUp(id, "refused")
    #expect(try store.item(id)?.state == .failed)
    try other.retry(id)
    #expect(try store.item(id)?.state == .waiting)
    #expect(try store.item(id)?.attempts == 0)
    #expect(try store.events().map(\.kind).last == .retried)
    try other.drop(id)
    #expect(try store.item(id) == nil)
    #expect(throws: UploadsError.self) { try other.drop(id) }
    // No ID is used twice.
    #expect(try store.add([request("two")])[0] > id)
  }

  @Test("The parts of a multipart upload are recorded until the item is done") func partsAreKept() throws {
    let store = try QueueStore(path: path)
    let id = try store.add([request("one")])[0]
    let part = UploadedPart(number: 1, size: 5, sha256: "00", etag: "x", hasChecksum: true)
    let item = try #require(try store.item(id))
    #expect(try store.record(item, at: "http://host", uploadID: "upload", parts: [part]))
    #expect(try QueueStore(path: path).item(id)?.parts == [part])
    try store.finish(id, as: .done)
    #expect(try store.item(id)?.uploadID == nil)
    #expect(try store.item(id)?.parts == [])
  }

  @Test("Done items are kept up to a limit") func whatIsDoneIsRememberedUpToALimit() throws {
    let store = try QueueStore(path: path)
    let file = try folder.file("f", 1, seed: 1)
    let content = try ObjectContent(readingFile: file)
    let ids = try store.add(
      (0...QueueStore.doneLimit).map { UploadRequest(content, bucket: "bucket", key: "\($0)", account: "a") })
    try store.write("finishing") { try $0.execute(sql: "UPDATE item SET state = 'done'") }
    try store.finish(ids[0], as: .done)
    #expect(try store.totals().items == [.done: QueueStore.doneLimit])
    #expect(try store.item(ids[0]) == nil)
    #expect(try store.item(ids[1]) != nil)
  }
}
