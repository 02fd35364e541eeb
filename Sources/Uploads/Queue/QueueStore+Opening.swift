internal import DurableFiles
internal import GRDB
internal import Glibc

extension QueueStore {
  /// The space that is kept for opening the queue: the index of the write-ahead log and the first records, 256 KiB.
  private static let reserveLength = 256 << 10
  /// The free space below which a failure to open the queue is called a full disk: 64 KiB.
  private static let leastSpace: UInt = 64 << 10

  /// Opens and migrates the file. On a full disk the reserve beside it is given up first; if that is gone already, the
  /// file is opened for this process alone, which needs no further file.
  static func open(_ path: String) throws(UploadsError) -> DatabaseQueue {
    let reserve = path + ".reserve"
    // SQLite would follow a link, and gives further files the owner and the mode of this one.
    do throws(FileError) { try Disk().claim(path) } catch { throw UploadsError(error) }
    do {
      let queue = try open(path, isAlone: false)
      keep(reserve)
      return queue
    } catch {
      guard error.code == .noSpace || isFull(path) else { throw error }
      if unlink(reserve) == 0 {
        do { return try open(path, isAlone: false) } catch {
          // Another program was faster to use the space.
        }
      }
      do { return try open(path, isAlone: true) } catch { throw noSpace(path) }
    }
  }

  private static func open(_ path: String, isAlone: Bool) throws(UploadsError) -> DatabaseQueue {
    try caught("open \(path)") {
      var configuration = Configuration()
      // Another process writes for a moment at a time.
      configuration.busyMode = .timeout(10)
      if isAlone {
        // The index of the write-ahead log is then in memory.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA locking_mode = EXCLUSIVE") }
      } else {
        configuration.journalMode = .wal
      }
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      // Afterwards: with a write-ahead log, GRDB sets NORMAL at first.
      try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
      try migrator.migrate(queue)
      return queue
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
