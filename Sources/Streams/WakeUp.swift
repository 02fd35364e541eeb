internal import CLinux
import Glibc

/// An event descriptor that wakes a thread which waits in `poll`.
package final class WakeUp: Sendable {
  /// The descriptor to poll for reading.
  package let descriptor: Int32

  /// Opens the event descriptor.
  /// - Throws: ``SystemCallError`` when the process has no descriptor left.
  package init() throws(SystemCallError) {
    descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    guard descriptor >= 0 else { throw SystemCallError("eventfd") }
  }

  deinit {
    close(descriptor)
  }

  /// Makes the descriptor readable.
  package func signal() {
    var one: UInt64 = 1
    // Fails only when the counter is full, and then the thread is about to wake anyway.
    _ = write(descriptor, &one, 8)
  }

  /// Makes the descriptor unreadable again.
  package func clear() {
    var count: UInt64 = 0
    _ = read(descriptor, &count, 8)
  }
}
