import Foundation
import Streams
import SystemTesting
import Testing
import Timing
import UploadsTesting

@testable import Uploads

/// A full disk: the kernel refuses, not a fake. Uploads continue, because they free space.
@Suite(
  "The queue on a full disk", .enabled(if: SmallDisk.isPossible, "needs to be allowed to mount a disk in memory"),
  .timeLimit(.minutes(5)))
struct FullDiskTests {
  private let disk: SmallDisk
  private let server = MemoryServer()
  init() throws { disk = try SmallDisk(megabytes: 2) }

  private func queue(_ policy: (any DiskPolicy)? = nil) throws -> (store: QueueStore, queue: UploadQueue) {
    let store = try QueueStore(path: disk.path + "/uploads.sqlite")
    let queue = UploadQueue(
      store, client: S3Client(try S3Endpoint("http://host"), transport: server),
      accounts: ["a": StaticCredentials(MemoryServer.credentials)], clock: TimeSource(FastClock()), disk: policy)
    return (store, queue)
  }

  private func requests(_ count: Int, _ afterwards: UploadRequest.Afterwards) throws -> [UploadRequest] {
    try (0..<count).map { number in
      let path = disk.path + "/\(number).wav"
      try Data(repeating: UInt8(number), count: 40_000).write(to: URL(filePath: path))
      return UploadRequest(
        try ObjectContent(readingFile: path), bucket: "bucket", key: "\(number)", account: "a", afterwards: afterwards)
    }
  }

  private func expectFull(_ store: QueueStore) {
    let error = #expect(throws: UploadsError.self) { try store.setPaused(false) }
    #expect(error?.code == .noSpace)
  }

  private func untilDone(_ count: Int, _ store: QueueStore, _ queue: UploadQueue) async throws {
    let running = Task { try await queue.run() }
    try await eventually("all items are done") { try store.totals().items == [.done: count] }
    running.cancel()
    try await running.value
    for number in 0..<count {
      #expect(server.object("bucket/\(number)") == [UInt8](repeating: UInt8(number), count: 40_000))
      #expect(server.writes(of: "bucket/\(number)") == 1)
    }
  }

  @Test("Uploading frees the space that the queue's records need") func whatIsUploadedMakesRoom() async throws {
    let (store, queue) = try queue()
    try store.add(try requests(10, .remove))
    try disk.fill()
    expectFull(store)
    try await untilDone(10, store, queue)
    #expect(!(0..<10).contains { FileManager.default.fileExists(atPath: disk.path + "/\($0).wav") })
  }

  @Test("The disk's owner removes delivered files and no others when the disk is full")
  func whoAnswersForTheDiskMakesRoom() async throws {
    let recorder = Recorder()
    let (store, queue) = try queue(recorder)
    try store.add(try requests(4, .keep))
    let filler = try disk.fill()
    expectFull(store)
    recorder.delivered.withLock { $0 = [filler] }
    try await untilDone(4, store, queue)
    #expect(!FileManager.default.fileExists(atPath: filler))
    #expect(Set(recorder.released.withLock { $0 }) == ["0", "1", "2", "3"])
    #expect((0..<4).allSatisfy { FileManager.default.fileExists(atPath: disk.path + "/\($0).wav") })
  }

  /// The index of SQLite's write-ahead log is a file that the last process has removed.
  @Test("A queue on a full disk can be opened and read", arguments: [true, false])
  func aFullDiskCanBeRead(_ hasReserve: Bool) throws {
    let path = disk.path + "/uploads.sqlite"
    let ids = try QueueStore(path: path).add(try requests(2, .keep))
    if !hasReserve { try FileManager.default.removeItem(atPath: path + ".reserve") }
    try disk.fill()
    let store = try QueueStore(path: path)
    #expect(try store.items(in: [.waiting]).map(\.id) == ids)
    #expect(try store.events() == [])
    if !hasReserve { expectFull(store) }
  }

  @Test("A full disk is named when a queue cannot be created on it") func aFullDiskIsNamed() throws {
    try disk.fill()
    let error = #expect(throws: UploadsError.self) { try QueueStore(path: disk.path + "/uploads.sqlite") }
    #expect(error?.code == .noSpace)
    #expect(error?.message.contains("the disk is full") == true)
  }

  /// A kill between removing the file and recording that leaves such an item.
  @Test("An item whose file is missing is done if the server has the object") func aMissingFileThatTheServerHasIsDone()
    async throws
  {
    let (store, queue) = try queue()
    let wanted = try requests(2, .remove)
    let ids = try store.add(wanted)
    server.put(try Data(contentsOf: URL(filePath: wanted[0].content.path)), as: "bucket/0")
    for request in wanted { try FileManager.default.removeItem(atPath: request.content.path) }
    let running = Task { try await queue.run() }
    try await eventually("both items have finished") { try store.totals().items == [.done: 1, .failed: 1] }
    running.cancel()
    try await running.value
    #expect(try store.item(ids[0])?.state == .done)
    #expect(try store.item(ids[1])?.problem?.contains("file missing") == true)
    #expect(server.writes(of: "bucket/0") == 0)
  }
}

/// The owner of a disk with some delivered files.
private final class Recorder: DiskPolicy {
  let delivered = Lock<[String]>([])
  let released = Lock<[String]>([])

  func release(_ item: UploadItem) async throws { released.withLock { $0.append(item.request.key) } }

  func freeSpace() async throws -> Bool {
    let files = delivered.withLock { files in
      defer { files = [] }
      return files
    }
    for path in files { try FileManager.default.removeItem(atPath: path) }
    return !files.isEmpty
  }
}
