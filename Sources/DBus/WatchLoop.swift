internal import CDBus
import Glibc
import Streams

/// A loop that waits for the file descriptors of libdbus on one thread.
///
/// libdbus reads and writes by itself; its "watches" name the descriptors to wait for. `ioLock` is held around every call
/// that may use the transport (a send from any thread, a read from this one): without it, a send on a broken socket would
/// free a watch that this thread is handling.
final class WatchLoop: @unchecked Sendable {
  // Sound: `watches` is under its lock, `wakeUp` is a constant, `polled` and `enabled` are used by the one thread only.

  /// Held around every call into the transport. Recursive, because libdbus calls back from some of them.
  let ioLock = RecursiveLock()
  private let watches = Lock<[OpaquePointer]>([])
  private let wakeUp: WakeUp
  /// The descriptors to poll, and the watch of each but the first; kept to reuse their memory.
  private var polled: [pollfd] = []
  private var enabled: [OpaquePointer] = []

  init() throws(DBusError) {
    wakeUp = try DBusError.limited { () throws(SystemCallError) in try WakeUp() }
  }

  func add(_ watch: OpaquePointer) {
    watches.withLock { $0.append(watch) }
    wake()
  }

  func remove(_ watch: OpaquePointer) {
    watches.withLock { $0.removeAll { $0 == watch } }
  }

  /// Makes a waiting ``waitAndHandle(until:)`` return.
  func wake() {
    wakeUp.signal()
  }

  /// Waits for a descriptor, a call of ``wake()`` or the deadline, and lets libdbus handle the ready descriptors.
  func waitAndHandle(until deadline: UInt64?) {
    enabled.removeAll(keepingCapacity: true)
    polled.removeAll(keepingCapacity: true)
    polled.append(pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0))
    // Under the lock: a watch is freed as soon as `remove` has returned.
    watches.withLock { watches in
      for watch in watches where dbus_watch_get_enabled(watch) != 0 {
        let flags = dbus_watch_get_flags(watch)
        var events: Int32 = 0
        if flags & DBUS_WATCH_READABLE.rawValue != 0 { events |= POLLIN }
        if flags & DBUS_WATCH_WRITABLE.rawValue != 0 { events |= POLLOUT }
        polled.append(pollfd(fd: dbus_watch_get_unix_fd(watch), events: Int16(events), revents: 0))
        enabled.append(watch)
      }
    }
    guard poll(&polled, nfds_t(polled.count), Self.milliseconds(until: deadline)) > 0 else { return }
    if polled[0].revents != 0 { wakeUp.clear() }
    for (index, watch) in enabled.enumerated() where polled[index + 1].revents != 0 {
      var flags: UInt32 = 0
      let events = Int32(polled[index + 1].revents)
      if events & POLLIN != 0 { flags |= DBUS_WATCH_READABLE.rawValue }
      if events & POLLOUT != 0 { flags |= DBUS_WATCH_WRITABLE.rawValue }
      if events & POLLHUP != 0 { flags |= DBUS_WATCH_HANGUP.rawValue }
      if events & (POLLERR | POLLNVAL) != 0 { flags |= DBUS_WATCH_ERROR.rawValue }
      ioLock.withLock {
        // It may have been removed while this thread waited.
        guard watches.withLock({ $0.contains(watch) }) else { return }
        dbus_watch_handle(watch, flags)
      }
    }
  }

  /// Returns the monotonic clock in nanoseconds.
  static func now() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  private static func milliseconds(until deadline: UInt64?) -> Int32 {
    guard let deadline else { return -1 }
    let now = now()
    guard deadline > now else { return 0 }
    return Int32(clamping: (deadline - now + 999_999) / 1_000_000)
  }
}

/// A lock that its owner may take again.
final class RecursiveLock: @unchecked Sendable {
  // Sound: the mutex is the only member, and threads may share it.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>

  init() {
    mutex = .allocate(capacity: 1)
    var attributes = pthread_mutexattr_t()
    pthread_mutexattr_init(&attributes)
    pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_RECURSIVE))
    pthread_mutex_init(mutex, &attributes)
    pthread_mutexattr_destroy(&attributes)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  @inline(__always)
  func withLock<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body()
  }
}

// libdbus calls these with the loop as their data; a C function pointer cannot be made of a method.

func addWatch(_ watch: OpaquePointer?, _ loop: UnsafeMutableRawPointer?) -> dbus_bool_t {
  Unmanaged<WatchLoop>.fromOpaque(loop!).takeUnretainedValue().add(watch!)
  return 1
}

func removeWatch(_ watch: OpaquePointer?, _ loop: UnsafeMutableRawPointer?) {
  Unmanaged<WatchLoop>.fromOpaque(loop!).takeUnretainedValue().remove(watch!)
}

func toggleWatch(_: OpaquePointer?, _ loop: UnsafeMutableRawPointer?) {
  Unmanaged<WatchLoop>.fromOpaque(loop!).takeUnretainedValue().wake()
}
