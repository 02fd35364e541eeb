package import DurableFiles
public import ErrorReporting

/// An error that says why audio cannot be recorded, stored or read.
///
/// ```swift
/// do {
///   let folder = try SegmentFolder(path: "/var/lib/recordings")
///   try folder.makeRoom()
/// } catch where error.code == .noSpace {
///   print("free some space:", error.message)
/// } catch {
///   print(error)
/// }
/// ```
public typealias AudioIngestError = CodedError<AudioIngestErrorDomain>

/// The domain of the codes of ``AudioIngestError``.
public enum AudioIngestErrorDomain {}

extension CodedError.Code where Domain == AudioIngestErrorDomain {
  /// An argument is outside its range; the message names the allowed values.
  public static var invalidArgument: Self { Self("invalid argument", .invalidInput) }
  /// The device names a codec that this library does not support.
  public static var unknownCodec: Self { Self("unknown codec", .failed) }
  /// A frame is not valid for its codec; no samples were decoded.
  public static var damagedFrame: Self { Self("damaged frame", .failed) }
  /// The codec's library returned an error.
  public static var codecFailed: Self { Self("codec failed", .failed) }
  /// A file could not be read or written.
  public static var storage: Self { Self("storage failed", .failed) }
  /// The disk is full, or the recordings have reached their quota.
  public static var noSpace: Self { Self("no space", .unavailable) }
  /// A file is corrupt, truncated or too long.
  public static var damagedFile: Self { Self("damaged file", .failed) }
  /// Another recorder has locked the folder; retry when it has stopped.
  public static var busy: Self { Self("folder in use", .temporary) }
  /// An operation timed out; the message names the phase.
  public static var timedOut: Self { Self("timed out", .temporary) }
  /// The connection to a paired device is not encrypted with its keys; another device may use its address.
  public static var unprotected: Self { Self("connection not protected", .notPermitted) }
  /// A segment of this number or name does not exist.
  public static var noSuchSegment: Self { Self("no such segment", .invalidInput) }
}

extension AudioIngestError {
  /// Creates the error for a failed operation on a file: `.noSpace` on a full disk, else `.storage`.
  init(_ error: FileError) {
    self.init(
      error.isOutOfSpace ? .noSpace : .storage, error.description, errno: error.errno,
      hint: error.isOutOfSpace ? "free some space on the disk" : nil)
  }
}

/// Performs an operation on a file, and throws its error as one of this library.
package func storage<Result>(
  _ operation: @autoclosure () throws(FileError) -> Result
) throws(AudioIngestError) -> Result {
  do throws(FileError) { return try operation() } catch { throw AudioIngestError(error) }
}

extension Disk {
  /// Returns the bytes of a file of a folder of recordings, or `nil` if it does not exist.
  /// - Throws: ``AudioIngestError``: `.damagedFile` if the file is longer than the limit, `.storage`.
  package func contents(of path: String, limit: Int) throws(AudioIngestError) -> [UInt8]? {
    guard let bytes = try storage(read(path, limit: limit, followsLinks: false)) else { return nil }
    guard bytes.count <= limit else {
      throw AudioIngestError(.damagedFile, "\(path) is too long; allowed: at most \(limit) bytes")
    }
    return bytes
  }
}

extension GrowingFile {
  /// Returns exactly `count` bytes.
  /// - Throws: ``AudioIngestError``: `.damagedFile` if the file ends before, `.storage`.
  func bytes(at offset: Int, _ count: Int) throws(AudioIngestError) -> [UInt8] {
    let bytes = try storage(read(at: offset, count))
    guard bytes.count == count else {
      throw AudioIngestError(.damagedFile, "\(path) ends before byte \(offset + count)")
    }
    return bytes
  }
}
