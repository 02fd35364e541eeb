internal import CDBus
import Glibc

/// A file descriptor that is closed exactly once: by ``close()``, or when the last reference goes.
///
/// Every descriptor that arrives over the bus is wrapped in one of these before anything else can fail, so that none
/// leaks when a message is refused or nobody takes the reply. All of them are close-on-exec.
public final class FileDescriptor: Sendable, Hashable {
  private let number: Lock<Int32>

  /// Takes ownership of an open descriptor.
  /// - Parameter number: an open file descriptor that nobody else will close.
  public init(owning number: Int32) {
    self.number = Lock(number)
  }

  /// The two ends of a new pipe, which no program inherits that is not given them.
  package static func pipe() throws(DBusError) -> (reading: FileDescriptor, writing: FileDescriptor) {
    var ends: [Int32] = [-1, -1]
    guard pipe2(&ends, O_CLOEXEC) == 0 else {
      throw DBusError(.limitExceeded, "pipe: \(String(cString: strerror(errno)))")
    }
    return (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
  }

  deinit {
    close()
  }

  /// Closes the descriptor now; later calls do nothing.
  public func close() {
    let open = number.withLock { number in
      defer { number = -1 }
      return number
    }
    if open >= 0 { _ = Glibc.close(open) }
  }

  /// Gives the descriptor to the caller, who closes it from now on.
  /// - Returns: the number, or `nil` when it was closed or given away before.
  public func take() -> Int32? {
    let open = number.withLock { number in
      defer { number = -1 }
      return number
    }
    return open >= 0 ? open : nil
  }

  /// Uses the descriptor while it is guaranteed to stay open.
  /// - Returns: what `body` returns; `nil` when the descriptor was closed or given away before.
  /// - Throws: what `body` throws.
  public func withNumber<R, E: Error>(_ body: (Int32) throws(E) -> R) throws(E) -> R? {
    try number.withLock { number throws(E) in number >= 0 ? try body(number) : nil }
  }

  /// Two descriptors are equal when they are the same object.
  public static func == (a: FileDescriptor, b: FileDescriptor) -> Bool { a === b }

  /// Hashes the identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
