import Streams
import Timing

/// The attempts of a central to connect, which are made in turn.
///
/// A controller establishes one LE connection at a time, and two attempts in parallel abort each other
/// (`le-connection-abort-by-local`). The phone with the fewest failures comes first, then the one that was received best.
/// An attempt that has had its turn ends when another phone waits: three phones that cannot be reached would otherwise
/// keep the fourth one out for a minute.
actor DialQueue {
  /// The properties of a phone that decide when it is its turn.
  struct Rank: Sendable {
    /// The number of failures in a row.
    var failures: Int
    /// The signal strength in dBm; `nil` when unknown.
    var rssi: Int?

    func comes(before other: Rank) -> Bool {
      failures != other.failures ? failures < other.failures : (rssi ?? -127) > (other.rssi ?? -127)
    }
  }

  private struct Waiter {
    let ticket: Int
    let rank: Rank
    let continuation: CheckedContinuation<Void, any Error>
  }

  private var isDialing = false
  private var waiters: [Waiter] = []
  private var nextTicket = 0
  /// Signalled when a phone begins to wait.
  private var contention = WakeSignal()

  /// Makes one attempt when it is its turn.
  /// - Parameters:
  ///   - rank: The place among the phones that wait.
  ///   - timeouts: The timeouts of a connection.
  ///   - time: The monotonic clock.
  ///   - attempt: The attempt, which honours cancellation.
  /// - Throws: ``PhaseTimeout``; what `attempt` throws; `CancellationError`.
  func dial(
    _ rank: Rank, _ timeouts: CentralConfiguration.Timeouts, _ time: TimeSource,
    _ attempt: @escaping @Sendable () async throws -> Void
  ) async throws {
    try await begin(rank)
    defer { end() }
    let turn = min(timeouts.connect, timeouts.turn * (1 << min(rank.failures, 8)))
    let limit = PhaseTimeout("connecting", timeouts.connect)
    try await time.withLimit(timeouts.connect, orThrow: limit) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask(operation: attempt)
        group.addTask {
          try await time.sleep(for: turn)
          await self.untilAnotherWaits()
          try Task.checkCancellation()
          throw PhaseTimeout("connecting, while another phone waits,", turn)
        }
        defer { group.cancelAll() }
        try await group.next()
      }
    }
  }

  private func begin(_ rank: Rank) async throws {
    try Task.checkCancellation()
    guard isDialing else {
      isDialing = true
      return
    }
    let ticket = nextTicket
    nextTicket += 1
    contention.signal()
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation {
        waiters.append(Waiter(ticket: ticket, rank: rank, continuation: $0))
      }
    } onCancel: {
      Task { await self.cancel(ticket) }
    }
  }

  private func end() {
    contention = WakeSignal()
    // The first one of equals has waited longest.
    guard var next = waiters.indices.first else {
      isDialing = false
      return
    }
    for index in waiters.indices where waiters[index].rank.comes(before: waiters[next].rank) { next = index }
    if waiters.count > 1 { contention.signal() }
    waiters.remove(at: next).continuation.resume()
  }

  private func cancel(_ ticket: Int) {
    guard let index = waiters.firstIndex(where: { $0.ticket == ticket }) else { return }
    waiters.remove(at: index).continuation.resume(throwing: CancellationError())
  }

  /// Waits until a phone waits, or until the task is cancelled.
  private func untilAnotherWaits() async {
    let contention = contention
    while waiters.isEmpty, !Task.isCancelled {
      for await _ in contention.signals { break }
    }
  }
}
