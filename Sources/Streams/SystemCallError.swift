public import Glibc

/// A system call that failed, with the error number it left.
///
/// The kits of the floor throw it where the kernel refuses something: no descriptor left (`EMFILE`), no thread
/// (`EAGAIN`), no memory. A caller usually wraps it in an error of its own:
///
/// ```swift
/// do {
///   _ = try FileDescriptor.pipe()
/// } catch {
///   print("\(error.call) failed with error number \(error.errno)")
/// }
/// ```
public struct SystemCallError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The name of the system call, for example `pipe2`.
  public var call: String
  /// The error number, for example `EMFILE`.
  public var errno: Int32

  /// Creates an error for a call that has just failed.
  /// - Parameters:
  ///   - call: The name of the system call.
  ///   - errno: The error number; the calling thread's current one by default.
  public init(_ call: String, errno: Int32 = Glibc.errno) {
    self.call = call
    self.errno = errno
  }

  /// The call and the kernel's text for the error number.
  public var description: String { "\(call): \(String(cString: strerror(errno)))" }
}
