public import Glibc

/// An operation on a file or folder that failed, with the error number behind it.
///
/// ```swift
/// do {
///   _ = try WholeFile(path: "state.json", limit: 4096).read()
/// } catch where error.isOutOfSpace {
///   print("the disk is full")
/// } catch {
///   print(error)  // opening state.json: Permission denied
/// }
/// ```
public struct FileError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The operation and the path, for example `opening /var/lib/edgeblue/mode.json`.
  public var operation: String
  /// The error number, for example `ENOENT`.
  public var errno: Int32

  /// Creates an error for an operation that has just failed.
  /// - Parameters:
  ///   - operation: The operation and the path, as a phrase that a colon can follow.
  ///   - errno: The error number; the calling thread's current one by default.
  public init(_ operation: String, errno: Int32 = Glibc.errno) {
    self.operation = operation
    self.errno = errno
  }

  /// A Boolean value that says whether the disk, a quota or the file size limit is exhausted.
  public var isOutOfSpace: Bool { [ENOSPC, EDQUOT, EFBIG].contains(errno) }

  /// The kernel's text for the error number.
  package var reason: String { String(cString: strerror(errno)) }

  /// The operation, the path and the kernel's text for the error number.
  public var description: String { "\(operation): \(reason)" }
}
