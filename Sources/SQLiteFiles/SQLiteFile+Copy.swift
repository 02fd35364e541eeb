internal import DurableFiles
internal import GRDB
internal import Glibc

extension SQLiteFile {
  /// Returns a copy in memory, for looking at it; no file is created or changed, and none stays open.
  ///
  /// The copy shows one instant, also while another process writes. A file of an earlier version is shown, and not migrated.
  /// Changes of the copy are refused. Without a file, the copy is empty.
  package static func copy(of path: String, _ layout: SQLiteLayout) throws(Failure) -> Self {
    let database = try copied(path, layout)
    return Self(path: path, database, layout.contents, isCopy: true)
  }

  /// The number of attempts to read a file that others change meanwhile.
  private static var attempts: Int { 20 }
  /// The time between two of them in microseconds.
  private static var pause: useconds_t { 20_000 }

  private static func copied(_ path: String, _ layout: SQLiteLayout) throws(Failure) -> DatabaseQueue {
    var attempt = 0
    while true {
      attempt += 1
      let before = try Stamps.of(path, Failure.self)
      guard before.file != nil else { return try prepared(path, layout) { try DatabaseQueue() } }
      do throws(Failure) {
        let queue = try prepared(path, layout) { try inMemory(path, hasLog: before.log != nil) }
        // Without a log nothing keeps writers away while the file is read.
        let after = try Stamps.of(path, Failure.self)
        if before.log != nil || after == before || attempt >= attempts { return queue }
      } catch {
        if attempt >= attempts { throw error }
      }
      usleep(pause)
    }
  }

  private static func prepared(
    _ path: String, _ layout: SQLiteLayout, _ copy: () throws -> DatabaseQueue
  ) throws(Failure) -> DatabaseQueue {
    try caught("read \(path)", layout.contents) {
      let queue = try copy()
      try layout.migrator.migrate(queue)
      return queue
    }
  }

  /// Reads the file, with its write-ahead log if there is one.
  private static func inMemory(_ path: String, hasLog: Bool) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.busyMode = .timeout(10)
    // To read a log, SQLite would create its index; to read a file without one, a log.
    let mode = hasLog ? "mode=ro&readonly_shm=1" : "mode=ro&immutable=1"
    // Two slashes at the beginning of a path would name a host.
    let scheme = path.hasPrefix("/") ? "file://" : "file:"
    return try DatabaseQueue.inMemoryCopy(
      fromPath: "\(scheme)\(encoded(path))?\(mode)", configuration: configuration)
  }

  /// Returns a path for a URI of SQLite, with all bytes but plain letters, digits and a few marks as hexadecimal digits.
  private static func encoded(_ path: String) -> String {
    let digits = Array("0123456789ABCDEF")
    return path.utf8.reduce(into: "") { text, byte in
      let character = Character(UnicodeScalar(byte))
      if byte < 0x80, character.isLetter || character.isNumber || "/-._~".contains(character) {
        text.append(character)
      } else {
        text += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
      }
    }
  }
}

/// The sizes and times of a file and of its write-ahead log.
private struct Stamps: Equatable {
  var file: WholeFile.Stamp?
  /// The write-ahead log, if there is anything in it.
  var log: WholeFile.Stamp?

  static func of<Failure: SQLiteStoreError>(_ path: String, _ failure: Failure.Type) throws(Failure) -> Stamps {
    do throws(FileError) {
      let log = try WholeFile(path: path + "-wal", limit: 0).stamp()
      return Stamps(file: try WholeFile(path: path, limit: 0).stamp(), log: log?.isEmpty == false ? log : nil)
    } catch {
      throw Failure(SQLiteFailure(error))
    }
  }
}
