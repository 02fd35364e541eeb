internal import CDBus
import Glibc

/// Starts a detached thread; the closure keeps alive what it needs.
package func startThread(named name: String, _ body: @escaping @Sendable () -> Void) throws(DBusError) {
  final class Box {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
  var thread = pthread_t()
  let box = Unmanaged.passRetained(
    Box {
      pthread_setname_np(pthread_self(), name)
      body()
    })
  let result = pthread_create(
    &thread, nil,
    { argument in
      Unmanaged<Box>.fromOpaque(argument!).takeRetainedValue().body()
      return nil
    }, box.toOpaque())
  guard result == 0 else {
    box.release()
    throw DBusError(.limitExceeded, "no thread could be started: \(String(cString: strerror(result)))")
  }
  pthread_detach(thread)
}

/// Wakes a thread that waits in `poll`.
package final class WakeUp: Sendable {
  /// What to poll for reading.
  package let descriptor: Int32

  package init() throws(DBusError) {
    descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    guard descriptor >= 0 else {
      throw DBusError(.limitExceeded, "eventfd: \(String(cString: strerror(errno)))")
    }
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

  /// Makes it unreadable again.
  package func clear() {
    var count: UInt64 = 0
    _ = read(descriptor, &count, 8)
  }
}
