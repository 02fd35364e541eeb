import Glibc

extension PacketLoop {
  /// A waiting task; it resumes with `false` when the socket was removed.
  typealias Waiter = CheckedContinuation<Bool, Never>

  /// Waits until a socket is readable or writable, has failed, or was closed by the peer. Returns early when the task
  /// is cancelled, and sometimes without a cause, so the caller checks again.
  /// - Returns: `false` when the socket was removed.
  func wait(_ id: Int, for direction: PacketDirection) async -> Bool {
    await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        let isKnown = state.withLock { state -> Bool? in
          guard state.entries[id] != nil else { return false }
          // The cancellation handler takes the same lock: it has either run, or will find the waiter.
          guard !Task.isCancelled else { return true }
          state.entries[id]?[keyPath: direction.waiters].append(waiter)
          return nil
        }
        if let isKnown { waiter.resume(returning: isKnown) } else { wakeUp.signal() }
      }
    } onCancel: {
      wakeWaiters(id, direction.event)
    }
  }

  /// Wakes the tasks that wait for these events; all tasks of one direction check again.
  func wakeWaiters(_ id: Int, _ events: Int32) {
    let broken = events & (POLLERR | POLLHUP | POLLNVAL) != 0
    let waiters = state.withLock { state -> [Waiter] in
      [PacketDirection.reading, .writing].flatMap { direction -> [Waiter] in
        guard broken || events & direction.event != 0 else { return [] }
        defer { state.entries[id]?[keyPath: direction.waiters] = [] }
        return state.entries[id]?[keyPath: direction.waiters] ?? []
      }
    }
    for waiter in waiters { waiter.resume(returning: true) }
  }
}

extension PacketLoop.Entry {
  /// The events to poll for; a socket without waiting tasks is left out, or its being closed would keep the thread
  /// busy.
  var events: Int32 {
    (receiver == nil && readers.isEmpty ? 0 : POLLIN) | (writers.isEmpty ? 0 : POLLOUT)
  }

  func dismissWaiters() {
    for waiter in readers + writers { waiter.resume(returning: false) }
  }
}

extension PacketDirection {
  fileprivate var waiters: WritableKeyPath<PacketLoop.Entry, [PacketLoop.Waiter]> {
    self == .reading ? \.readers : \.writers
  }
  fileprivate var event: Int32 { self == .reading ? POLLIN : POLLOUT }
}
