import Foundation
import Testing

@testable import DurableFiles

@Suite("Whole files")
struct WholeFileTests {
  /// A folder of the test's own, removed at its end.
  final class Folder {
    let path = NSTemporaryDirectory() + "edgeblue-\(UUID().uuidString)"
    init() throws { try Disk().createFolder(path) }
    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  @Test("What was written is read")
  func roundTrip() throws {
    let folder = try Folder()
    let file = WholeFile(path: folder.path + "/state", limit: 16)
    #expect(try file.read() == nil)
    try file.write(Data("one".utf8))
    try file.write(Data("two".utf8))
    #expect(try file.read() == Data("two".utf8))
    #expect(try Disk().names(in: folder.path) == ["state"])
  }

  @Test("A file that is too long is read up to one byte more than the limit")
  func limit() throws {
    let folder = try Folder()
    let file = WholeFile(path: folder.path + "/state", limit: 4)
    try file.write(Data("123456789".utf8))
    #expect(try file.read()?.count == 5)
  }

  @Test(
    "A step that fails leaves the old contents or the new ones",
    arguments: [DiskStep.open, .write, .sync, .rename])
  func fault(at step: DiskStep) throws {
    let folder = try Folder()
    let path = folder.path + "/state"
    try WholeFile(path: path, limit: 16).write(Data("old".utf8))
    let broken = WholeFile(path: path, limit: 16, disk: Disk(fault: { failing, _ in failing == step ? ENOSPC : nil }))
    let error = #expect(throws: FileError.self) { try broken.write(Data("new".utf8)) }
    #expect(error?.isOutOfSpace == true)
    let contents = try #require(try WholeFile(path: path, limit: 16).read())
    #expect(["old", "new"].contains(String(decoding: contents, as: UTF8.self)))
  }

  @Test("A file without a folder is refused with the error number")
  func noFolder() {
    let file = WholeFile(path: "/nonexistent/state", limit: 16)
    let error = #expect(throws: FileError.self) { try file.write(Data()) }
    #expect(error?.errno == ENOENT)
  }
}
