import DurableFiles
import Foundation
import Testing

@Suite("File locks")
struct FileLockTests {
  @Test("A lock is held by one at a time, and again after its release")
  func exclusion() throws {
    let path = NSTemporaryDirectory() + "edgeblue-lock-\(UUID().uuidString)"
    defer { unlink(path) }
    #expect(try !FileLock.isHeld(path: path))
    let lock = try #require(try FileLock(path: path))
    #expect(try FileLock.isHeld(path: path))
    #expect(try FileLock(path: path, attempts: 2) == nil)
    lock.release()
    #expect(try !FileLock.isHeld(path: path))
    #expect(try FileLock(path: path) != nil)
  }

  @Test("A lock ends with the last reference to it")
  func deinitialisation() throws {
    let path = NSTemporaryDirectory() + "edgeblue-lock-\(UUID().uuidString)"
    defer { unlink(path) }
    do {
      let lock = try #require(try FileLock(path: path))
      withExtendedLifetime(lock) {}
    }
    #expect(try FileLock(path: path) != nil)
  }

  @Test("A lock in a folder that does not exist is refused with the error number")
  func noFolder() {
    let error = #expect(throws: FileError.self) { try FileLock(path: "/nonexistent/lock") }
    #expect(error?.errno == ENOENT)
  }
}
