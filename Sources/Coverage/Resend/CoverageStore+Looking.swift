internal import DurableFiles
internal import FoundationEssentials
internal import GRDB

extension CoverageStore {
  /// Returns a copy in memory of the stored sessions, for looking at them; no file is created or changed.
  ///
  /// The copy shows one instant, also while another program measures. Changes of the copy do not reach the file.
  /// - Parameter path: The path of the file; without one, the copy is empty.
  /// - Throws: ``CoverageError`` with code `.storage` if the file exists and cannot be read.
  public static func copy(of path: String) throws(CoverageError) -> CoverageStore {
    let hasFile: Bool
    let hasLog: Bool
    do throws(FileError) {
      hasFile = try WholeFile(path: path, limit: 0).stamp() != nil
      hasLog = try WholeFile(path: path + "-wal", limit: 0).stamp()?.isEmpty == false
    } catch {
      throw CoverageError(error)
    }
    let database = try caught("read \(path)") {
      let queue = hasFile ? try read(path, hasLog: hasLog) : try DatabaseQueue()
      try migrator.migrate(queue)
      return queue
    }
    return CoverageStore(path: path, database: database)
  }

  /// Reads the file, with its write-ahead log if there is one.
  private static func read(_ path: String, hasLog: Bool) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.busyMode = .timeout(10)
    // To read a log, SQLite would create its index; to read a file without one, a log.
    let mode = hasLog ? "mode=ro&readonly_shm=1" : "mode=ro&immutable=1"
    let url = URL(filePath: path, directoryHint: .notDirectory).absoluteString
    return try DatabaseQueue.inMemoryCopy(fromPath: "\(url)?\(mode)", configuration: configuration)
  }
}
