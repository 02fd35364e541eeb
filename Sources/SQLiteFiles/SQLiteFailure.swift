package import DurableFiles
internal import GRDB

/// A failure to open, read or write a file of SQLite.
package struct SQLiteFailure: Error, Hashable {
  /// A Boolean value that indicates whether the disk or a quota is full.
  package var isOutOfSpace: Bool
  /// The operation, the file and the cause.
  package var message: String
  /// The error number of the system call behind it, if there is one.
  package var errno: Int32?

  /// The advice for a user; `nil` if none is known.
  package var hint: String? { isOutOfSpace ? "free some space on the disk" : nil }

  package init(_ message: String, isOutOfSpace: Bool = false, errno: Int32? = nil) {
    self.message = message
    self.isOutOfSpace = isOutOfSpace
    self.errno = errno
  }

  /// Creates the failure of an operation on the file itself, or on one beside it.
  package init(_ error: FileError) { self.init("\(error)", isOutOfSpace: error.isOutOfSpace, errno: error.errno) }

  init(_ phase: String, _ error: DatabaseError, contents: String) {
    self.init(
      "\(phase): \(Self.words(for: error, contents))",
      isOutOfSpace: error.resultCode.primaryResultCode == .SQLITE_FULL)
  }

  /// Returns the reason of a failure in words that are no library's, where the library's would mislead.
  private static func words(for error: DatabaseError, _ contents: String) -> String {
    switch error.resultCode.primaryResultCode {
    case .SQLITE_FULL: "there is no space left on the disk"
    case .SQLITE_NOTADB: "the file is not one of \(contents), or is damaged"
    case .SQLITE_CORRUPT: "the file is damaged"
    case .SQLITE_BUSY: "another program keeps the file locked"
    case .SQLITE_IOERR: "the disk fails to read or write"
    default: error.message ?? "\(error.resultCode)"
    }
  }
}

/// The error of a library that keeps its records in a file of SQLite.
package protocol SQLiteStoreError: Error {
  /// Creates the library's error for a failure of its file.
  init(_ failure: SQLiteFailure)
}
