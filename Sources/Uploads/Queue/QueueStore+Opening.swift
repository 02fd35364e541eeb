internal import DurableFiles
internal import Glibc
package import SQLiteFiles

extension QueueStore {
  /// The space that is kept for opening the queue: the index of the write-ahead log and the first records, 256 KiB.
  private static let reserveLength = 256 << 10
  /// The free space below which a failure to open the queue is called a full disk: 64 KiB.
  private static let leastSpace: UInt = 64 << 10

  /// Opens and migrates the file. On a full disk the reserve beside it is given up first; if that is gone already, the
  /// file is opened for this process alone, which needs no further file.
  static func open(
    _ path: String, _ unixMs: @escaping @Sendable () -> Int64
  ) throws(UploadsError) -> SQLiteFile<UploadsError> {
    let reserve = path + ".reserve"
    do {
      let file = try SQLiteFile<UploadsError>(opening: path, layout, unixMs: unixMs)
      keep(reserve)
      return file
    } catch {
      guard error.code == .noSpace || isFull(path) else { throw error }
      if unlink(reserve) == 0 {
        do { return try SQLiteFile(opening: path, layout, unixMs: unixMs) } catch {
          // Another program was faster to use the space.
        }
      }
      do { return try SQLiteFile(opening: path, layout, isAlone: true, unixMs: unixMs) } catch { throw noSpace(path) }
    }
  }

  /// Allocates the reserve, if it does not exist.
  private static func keep(_ reserve: String) {
    do throws(FileError) { try Disk().reserve(reserve, reserveLength) } catch {
      // Without it, only the next start on a full disk is harder.
    }
  }

  private static func isFull(_ path: String) -> Bool {
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    var status = statvfs()
    return statvfs(folder, &status) == 0 && status.f_bavail * status.f_frsize < leastSpace
  }

  /// A Boolean value that indicates whether the disk of the file has no space for records.
  package var isDiskFull: Bool { Self.isFull(path) }

  private static func noSpace(_ path: String) -> UploadsError {
    UploadsError(.noSpace, "open \(path): the disk is full", hint: "free some space on the disk")
  }
}

extension UploadsError: SQLiteStoreError {
  /// Creates the error of the file of a queue.
  package init(_ failure: SQLiteFailure) {
    self.init(
      failure.isOutOfSpace ? .noSpace : .storage, failure.message, errno: failure.errno, hint: failure.hint)
  }
}
