internal import DurableFiles
internal import GRDB
internal import Glibc

extension QueueStore {
  /// Returns a copy in memory of a queue, for looking at it; no file is created or changed, and none stays open.
  ///
  /// The copy shows one instant of the queue, also while another process uploads it. A file of an earlier version is
  /// shown, and not migrated. Changes of the copy are refused.
  ///
  /// ```swift
  /// let store = try QueueStore.copy(of: "/var/lib/example/uploads.sqlite")
  /// for item in try store.items(in: [.waiting]) { print(item.id, item.request.key) }
  /// ```
  /// - Parameter path: The path of the file; without one, the copy is empty.
  /// - Throws: ``UploadsError`` with code `.storage` if the file exists and cannot be read.
  public static func copy(of path: String) throws(UploadsError) -> QueueStore {
    QueueStore(path: path, database: try copyDatabase(path))
  }

  /// The number of attempts to read a file that others change meanwhile, each with a pause of ``pause``.
  private static let attempts = 20
  private static let pause: useconds_t = 20_000

  private static func copyDatabase(_ path: String) throws(UploadsError) -> DatabaseQueue {
    var attempt = 0
    while true {
      attempt += 1
      let before = try stamps(of: path)
      guard before.file != nil else { return try prepared { try DatabaseQueue(configuration: Configuration()) } }
      var problem: UploadsError?
      do throws(UploadsError) {
        let queue = try prepared { try read(path, hasLog: before.log != nil) }
        // Without a log nothing keeps writers away while the file is read.
        let after = try stamps(of: path)
        if before.log != nil || after == before || attempt >= attempts { return queue }
      } catch {
        problem = error
      }
      if let problem, attempt >= attempts { throw problem }
      usleep(pause)
    }
  }

  /// Reads the file, with its write-ahead log if there is one.
  private static func read(_ path: String, hasLog: Bool) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.busyMode = .timeout(10)
    // To read a log, SQLite would create its index; to read a file without one, a log.
    // Two slashes at the beginning of a path would name a host.
    let scheme = path.hasPrefix("/") ? "file://" : "file:"
    let mode = hasLog ? "mode=ro&readonly_shm=1" : "mode=ro&immutable=1"
    return try DatabaseQueue.inMemoryCopy(
      fromPath: "\(scheme)\(path.percentEncoded(slashes: false))?\(mode)", configuration: configuration)
  }

  private static func prepared(_ copy: () throws -> DatabaseQueue) throws(UploadsError) -> DatabaseQueue {
    try caught("read the queue") {
      let queue = try copy()
      try migrator.migrate(queue)
      try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA query_only = 1") }
      return queue
    }
  }

  private struct Stamps: Equatable {
    var file: WholeFile.Stamp?
    /// The write-ahead log, if there is anything in it.
    var log: WholeFile.Stamp?
  }

  private static func stamps(of path: String) throws(UploadsError) -> Stamps {
    do throws(FileError) {
      let log = try WholeFile(path: path + "-wal", limit: 0).stamp()
      return Stamps(file: try WholeFile(path: path, limit: 0).stamp(), log: log?.isEmpty == false ? log : nil)
    } catch {
      throw UploadsError(error)
    }
  }
}
