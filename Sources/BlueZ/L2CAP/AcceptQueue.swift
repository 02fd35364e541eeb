import Streams

/// The open channels that wait to be accepted by the program, up to a limit.
final class AcceptQueue: Sendable {
  typealias Waiter = CheckedContinuation<Void, Never>

  private struct State {
    var channels: [Result<L2CAPChannel, BlueZError>] = []
    var isClosed = false
    var waiters: [Waiter] = []
  }

  private let state = Lock(State())
  private let limit: Int

  init(limit: Int) { self.limit = max(limit, 1) }

  /// Adds a channel, or the error of accepting one.
  /// - Returns: `false` when the queue was closed.
  func put(_ channel: Result<L2CAPChannel, BlueZError>) -> Bool {
    change { state in
      if !state.isClosed { state.channels.append(channel) }
      return !state.isClosed
    }
  }

  /// Waits until the queue has a free slot, or was closed.
  func waitForRoom() async {
    await wait { [limit] in $0.channels.count >= limit && !$0.isClosed }
  }

  /// Returns the first channel, and waits for it.
  /// - Returns: `nil` when the queue was closed.
  func take() async throws -> L2CAPChannel? {
    while true {
      try Task.checkCancellation()
      if state.withLock({ $0.channels.isEmpty }) {
        if state.withLock({ $0.isClosed }) { return nil }
        await wait { $0.channels.isEmpty && !$0.isClosed }
      } else if let first = change({ $0.channels.isEmpty ? nil : $0.channels.removeFirst() }) {
        return try first.get()
      }
    }
  }

  /// Releases the waiting tasks, and the channels that were not taken.
  func close() {
    // Released after the lock, which closes them.
    let rest = change { state in
      state.isClosed = true
      defer { state.channels = [] }
      return state.channels
    }
    withExtendedLifetime(rest) {}
  }

  private func change<R>(_ body: (inout State) -> R) -> R {
    let (result, waiters) = state.withLock { state in
      defer { state.waiters = [] }
      return (body(&state), state.waiters)
    }
    for waiter in waiters { waiter.resume() }
    return result
  }

  /// Waits for a change, if the condition holds; the caller checks again.
  private func wait(while isNeeded: @Sendable (borrowing State) -> Bool) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { (waiter: Waiter) in
        let waits = state.withLock { state in
          guard isNeeded(state), !Task.isCancelled else { return false }
          state.waiters.append(waiter)
          return true
        }
        if !waits { waiter.resume() }
      }
    } onCancel: {
      change { _ in }
    }
  }
}
