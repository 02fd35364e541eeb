import Foundation
import GRDB
import Testing
import UploadsTesting

@testable import Uploads

/// Programs that look at the queue of another user, such as root at a service's.
@Suite("Looking at a queue") struct LookingAttacks {
  private let folder: TemporaryFolder
  private let state: String
  private var path: String { state + "/q.sqlite" }

  init() throws {
    folder = try TemporaryFolder()
    state = folder.path + "/a state? 100%#"
    try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: false)
  }

  private func request(_ key: String) throws -> UploadRequest {
    UploadRequest(
      try ObjectContent(readingFile: try folder.file(key, 100, seed: 1)), bucket: "bucket", key: key, account: "a")
  }

  /// The files of the folder, with their contents except of the index, which the two stores of this process share.
  private var files: [String: Data?] {
    get throws {
      let names = try FileManager.default.contentsOfDirectory(atPath: state)
      let contents = names.map { name in
        (name, name.hasSuffix("-shm") ? nil : FileManager.default.contents(atPath: "\(state)/\(name)"))
      }
      return Dictionary(uniqueKeysWithValues: contents)
    }
  }

  @Test("Without a queue, the copy is empty and no file is created") func nothingIsCreated() throws {
    let store = try QueueStore.copy(of: path)
    #expect(try store.totals().items.isEmpty)
    #expect(try store.uploader == nil)
    #expect(try files.isEmpty)
    #expect(try QueueStore.copy(of: folder.path + "/absent/q.sqlite").items(in: [.waiting]).isEmpty)
  }

  @Test("A queue that is not in use is read without a file beside it") func aClosedQueueIsRead() throws {
    try { _ = try QueueStore(path: path).add([request("one")]) }()
    let before = try files
    #expect(before.keys.contains("q.sqlite-wal") == false)
    #expect(try QueueStore.copy(of: path).items(in: [.waiting]).map(\.request.key) == ["one"])
    #expect(try files == before)
  }

  @Test("A queue in use is read up to its last change, and no file is changed") func aQueueInUseIsRead() throws {
    let store = try QueueStore(path: path)
    try store.add([request("one"), request("two")])
    let before = try files
    #expect(before["q.sqlite-wal"]??.isEmpty == false)
    #expect(try QueueStore.copy(of: path).items(in: [.waiting]).map(\.request.key) == ["one", "two"])
    #expect(try files == before)
    withExtendedLifetime(store) {}
  }

  @Test("A queue that a killed process has left is read, and stays as it is") func aLeftQueueIsRead() throws {
    let store = try QueueStore(path: path)
    try store.add([request("one")])
    let other = folder.path + "/left"
    try FileManager.default.copyItem(atPath: state, toPath: other)
    let names = try FileManager.default.contentsOfDirectory(atPath: other).sorted()
    #expect(try QueueStore.copy(of: other + "/q.sqlite").items(in: [.waiting]).count == 1)
    #expect(try FileManager.default.contentsOfDirectory(atPath: other).sorted() == names)
    withExtendedLifetime(store) {}
  }

  @Test("A queue of an earlier version is shown, and not migrated") func anEarlierVersionStays() throws {
    let old = try DatabaseQueue(path: path)
    try QueueStore.migrator.migrate(old, upTo: "3: sums of parts")
    try old.close()
    let before = try files
    #expect(try QueueStore.copy(of: path).events().isEmpty)
    #expect(try files == before)
  }

  @Test("A copy refuses changes") func changesAreRefused() throws {
    let store = try QueueStore.copy(of: path)
    // Also after a read: GRDB's own refusal ends with it.
    for _ in 0..<2 {
      let error = #expect(throws: UploadsError.self) { try store.setPaused(true) }
      #expect(error?.code == .storage)
      #expect(error?.message.contains("a copy for looking is not changed") == true)
      #expect(try store.totals().items.isEmpty)
    }
  }

  @Test("A link in the place of a queue is not followed, and a new queue is for its user alone")
  func linksAreNotFollowed() throws {
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: folder.path + "/elsewhere")
    #expect(throws: UploadsError.self) { try QueueStore(path: path) }
    #expect(FileManager.default.fileExists(atPath: folder.path + "/elsewhere") == false)
    try FileManager.default.removeItem(atPath: path)
    let store = try QueueStore(path: path)
    try store.add([request("one")])
    for name in try files.keys {
      let attributes = try FileManager.default.attributesOfItem(atPath: "\(state)/\(name)")
      #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
    }
  }
}
