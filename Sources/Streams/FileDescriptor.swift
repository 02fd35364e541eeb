internal import CLinux
package import Glibc

/// A file descriptor that is closed exactly once: by ``close()``, or with the last reference to it.
///
/// Wrap a descriptor as soon as it arrives, before anything else can fail, so that no error path leaks it. Descriptors
/// that EdgeBlue opens or receives over a bus are close-on-exec.
///
/// ```swift
/// let (reading, writing) = try FileDescriptor.pipe()
/// reading.withNumber { print("reading from descriptor \($0)") }
/// writing.close()
/// ```
public final class FileDescriptor: Sendable, Hashable {
  private let number: Lock<Int32>

  /// Takes ownership of an open descriptor.
  /// - Parameter number: An open file descriptor that nobody else will close.
  public init(owning number: Int32) {
    self.number = Lock(number)
  }

  /// Opens a pipe that child processes do not inherit.
  /// - Returns: The reading and the writing end.
  /// - Throws: ``SystemCallError``, for example with `EMFILE` when the process has no descriptor left.
  public static func pipe() throws(SystemCallError) -> (reading: FileDescriptor, writing: FileDescriptor) {
    var ends: [Int32] = [-1, -1]
    guard pipe2(&ends, O_CLOEXEC) == 0 else { throw SystemCallError("pipe2") }
    return (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
  }

  deinit {
    close()
  }

  /// Closes the descriptor now; further calls have no effect.
  public func close() {
    if let open = take() { _ = Glibc.close(open) }
  }

  /// Gives the descriptor to the caller, who must close it.
  /// - Returns: The number, or `nil` if the descriptor was closed or taken before.
  public func take() -> Int32? {
    let open = number.withLock { number in
      defer { number = -1 }
      return number
    }
    return open >= 0 ? open : nil
  }

  /// Calls a closure with the descriptor's number, which stays open until the closure returns.
  /// - Returns: The closure's result, or `nil` if the descriptor was closed or taken before.
  /// - Throws: The error that the closure throws.
  public func withNumber<R, E: Error>(_ body: (Int32) throws(E) -> R) throws(E) -> R? {
    try number.withLock { number throws(E) in number >= 0 ? try body(number) : nil }
  }

  /// Returns whether two values are the same object; the numbers are not compared.
  public static func == (a: FileDescriptor, b: FileDescriptor) -> Bool { a === b }

  /// Hashes the object's identity into the given hasher.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Makes a program that is about to be spawned close every descriptor above those of its standard streams; call it after
/// the actions that set these up.
///
/// Libraries open sockets that are not close-on-exec, also between any look at the open ones and the fork. A listening
/// socket that a child keeps accepts connections that nobody reads.
package func closeInherited(_ actions: inout posix_spawn_file_actions_t) {
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1)
}
