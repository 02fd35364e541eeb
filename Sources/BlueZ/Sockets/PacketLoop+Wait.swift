import Glibc

extension PacketLoop {
  /// A task that waits; it is told whether the socket is still here.
  typealias Waiter = CheckedContinuation<Bool, Never>

  /// What a task waits for.
  enum Direction {
    case reading, writing

    fileprivate var waiters: WritableKeyPath<Entry, [Waiter]> { self == .reading ? \.readers : \.writers }
    fileprivate var event: Int32 { self == .reading ? POLLIN : POLLOUT }
  }

  /// Waits until a socket may be read or written, has failed, or has been closed by the other end. Comes back early
  /// when the task is cancelled, and now and then without a cause: who calls looks again.
  /// - Returns: `false` when the socket was removed.
  func wait(_ id: Int, for direction: Direction) async -> Bool {
    await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        let isKnown = state.withLock { state -> Bool? in
          guard state.entries[id] != nil else { return false }
          // Under the lock that the cancellation handler takes too: it has either run, or will find the waiter.
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

  /// Wakes who waits for these events; all of one direction look again.
  func wakeWaiters(_ id: Int, _ events: Int32) {
    let broken = events & (POLLERR | POLLHUP | POLLNVAL) != 0
    let waiters = state.withLock { state -> [Waiter] in
      [Direction.reading, .writing].flatMap { direction -> [Waiter] in
        guard broken || events & direction.event != 0 else { return [] }
        defer { state.entries[id]?[keyPath: direction.waiters] = [] }
        return state.entries[id]?[keyPath: direction.waiters] ?? []
      }
    }
    for waiter in waiters { waiter.resume(returning: true) }
  }
}

extension PacketLoop.Entry {
  /// What to poll for; a socket nobody waits for is left out, or its being closed would keep the thread busy.
  var events: Int32 {
    (receiver == nil && readers.isEmpty ? 0 : POLLIN) | (writers.isEmpty ? 0 : POLLOUT)
  }

  func dismissWaiters() {
    for waiter in readers + writers { waiter.resume(returning: false) }
  }
}
