import DeterministicTesting
import Foundation
import SystemTesting
import Testing
import UploadsTesting

@testable import Uploads

/// Files that are no queue, or were one.
@Suite("Corrupt queues", .computing) struct CorruptionAttacks {
  private let folder: TemporaryFolder
  private var path: String { folder.path + "/uploads.sqlite" }

  init() throws { folder = try TemporaryFolder() }

  /// Reads everything of a queue that a list of items needs.
  private func read(_ store: QueueStore) throws {
    for item in try store.items(in: Set(UploadItem.State.allCases)) { _ = try store.item(item.id) }
    _ = try store.totals()
    _ = try store.serversInUse()
  }

  @Test("A file that is no queue is an error, for those who look too, and stays as it is")
  func anotherFileIsRefused() throws {
    for text in ["{}", "SQLite format 3\u{0}", String(repeating: "not a database ", count: 1000)] {
      let bytes = Data(text.utf8)
      try bytes.write(to: URL(filePath: path))
      let error = #expect(throws: UploadsError.self) { try QueueStore(path: path) }
      #expect(error?.code == .storage, "\(error as Any)")
      #expect(throws: UploadsError.self) { try read(try QueueStore.copy(of: path)) }
      #expect(FileManager.default.contents(atPath: path) == bytes)
    }
  }

  @Test("Damage anywhere in a queue is an error, or leaves items that can be read", arguments: 0..<64 as Range<UInt64>)
  func damageIsSurvived(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let keys = (0..<40).map { "key-\($0)" }
    try {
      let store = try QueueStore(path: path)
      let content = try ObjectContent(readingFile: try folder.file("file", 100, seed: 1))
      try store.add(keys.map { UploadRequest(content, bucket: "bucket", key: $0, account: "a") })
    }()
    var bytes = try #require(FileManager.default.contents(atPath: path))
    if seed.isMultiple(of: 4) { bytes = bytes.prefix(Int.random(in: 1..<bytes.count, using: &random)) }
    for _ in 0..<8 { bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random) }
    try bytes.write(to: URL(filePath: path))
    for look in [false, true] {
      do {
        try read(look ? try QueueStore.copy(of: path) : try QueueStore(path: path))
      } catch let error as UploadsError {
        #expect([.storage, .noSpace].contains(error.code), "\(error)")
      }
    }
  }
}
