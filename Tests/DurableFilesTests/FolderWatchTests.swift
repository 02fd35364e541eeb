import Foundation
import Testing

@testable import DurableFiles

@Suite("Watches of folders", .timeLimit(.minutes(5))) struct FolderWatchTests {
  /// A folder that is removed with the object.
  private final class Folder: Sendable {
    let path = FileManager.default.temporaryDirectory.appending(path: "watch-\(UUID().uuidString)").path

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> WholeFile { WholeFile(path: path + "/" + name, limit: 100) }
  }

  @Test("Each way in which a file changes is reported") func changes() async throws {
    let folder = try Folder()
    let watch = try FolderWatch(path: folder.path, names: ["a"])
    var reports = watch.changes.makeAsyncIterator()
    try folder.file("a").write(Data("1".utf8))
    #expect(await reports.next() != nil)
    try Data("2".utf8).write(to: URL(filePath: folder.path + "/a"))
    #expect(await reports.next() != nil)
    try folder.file("a").remove()
    #expect(await reports.next() != nil)
    watch.close()
    while await reports.next() != nil {}
  }

  @Test("The files of other names are not reported") func others() async throws {
    let folder = try Folder()
    let watch = try FolderWatch(path: folder.path, names: ["a"])
    for number in 0..<200 { try folder.file("b\(number)").write(Data()) }
    try folder.file("a").write(Data())
    var reports = watch.changes.makeAsyncIterator()
    #expect(await reports.next() != nil)
    watch.close()
    while await reports.next() != nil {}
    // The file is renamed to its name, and closed with it.
    #expect(watch.changes.received <= 2)
  }

  @Test("A lock that its holder gives up, or loses with its life, is reported; a look at it is not") func locks()
    async throws
  {
    let folder = try Folder()
    let path = folder.path + "/lock"
    let lock = try #require(try FileLock(path: path))
    let watch = try FolderWatch(path: folder.path, names: ["lock"])
    for _ in 0..<10 { #expect(try FileLock.isHeld(path: path)) }
    lock.release()
    var reports = watch.changes.makeAsyncIterator()
    #expect(await reports.next() != nil)
    #expect(try !FileLock.isHeld(path: path))
    watch.close()
    while await reports.next() != nil {}
    #expect(watch.changes.received == 1)
  }

  @Test(
    "What a holder publishes in its lock is reported where writes are wanted, and nowhere else",
    arguments: [true, false])
  func published(reportsWrites: Bool) async throws {
    let folder = try Folder()
    let lock = try #require(try FileLock(path: folder.path + "/lock"))
    let watch = try FolderWatch(path: folder.path, names: ["lock"], reportsWrites: reportsWrites)
    lock.publish([1])
    var reports = watch.changes.makeAsyncIterator()
    if reportsWrites { #expect(await reports.next() != nil) }
    watch.close()
    while await reports.next() != nil {}
    #expect(watch.changes.received == (reportsWrites ? 1 : 0))
    lock.release()
  }

  @Test("The reports end with the folder") func removed() async throws {
    let folder = try Folder()
    let watch = try FolderWatch(path: folder.path, names: ["a"])
    try FileManager.default.removeItem(atPath: folder.path)
    for await _ in watch.changes {}
    let error = #expect(throws: FileError.self) { try FolderWatch(path: folder.path, names: []) }
    #expect(error?.errno == ENOENT)
  }

  @Test("A watch whose reader is cancelled ends") func cancelled() async throws {
    let folder = try Folder()
    let watch = try FolderWatch(path: folder.path, names: ["a"])
    let reader = Task { for await _ in watch.changes {} }
    reader.cancel()
    await reader.value
    try folder.file("a").write(Data())
    for await _ in watch.changes { Issue.record("a report after the end") }
  }
}
