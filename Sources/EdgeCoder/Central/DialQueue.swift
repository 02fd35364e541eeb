import Timing

/// The attempts of a central to connect, which are made in turn.
///
/// A controller establishes one LE connection at a time, and two attempts in parallel abort each other
/// (`le-connection-abort-by-local`). The phone with the fewest failures comes first, then the one that was received best.
/// While a controller tries to connect it hears nobody else. So an attempt ends when its link is not established in its
/// turn, and a pause follows in which the scan hears phones, and only one that has not failed yet is dialled: otherwise
/// phones that have left, for example under a private address of before, would keep all others out. For the same reason
/// an attempt of a phone that has failed ends when one that has not waits. An attempt whose link is established goes on
/// beside the next one.
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

  private enum State {
    case free
    /// The attempt of this ticket has the turn.
    case dialing(Int)
    /// The scan hears phones until the pause of this number is over.
    case listening(Int)
  }

  private var state = State.free
  private var waiters: [Waiter] = []
  private var nextTicket = 0
  /// The attempts that end when a phone waits that has not failed yet.
  private var yielding: [Int: CheckedContinuation<Void, Never>] = [:]

  /// Makes one attempt when it is its turn.
  /// - Parameters:
  ///   - rank: The place among the phones that wait.
  ///   - timeouts: The timeouts of a connection.
  ///   - time: The monotonic clock.
  ///   - isLinked: Returns `true` when the link is established, and the attempt discovers services.
  ///   - attempt: The attempt, which honours cancellation.
  /// - Throws: ``PhaseTimeout``; what `attempt` throws; `CancellationError`.
  func dial(
    _ rank: Rank, _ timeouts: CentralConfiguration.Timeouts, _ time: TimeSource,
    isLinked: @escaping @Sendable () async -> Bool, _ attempt: @escaping @Sendable () async throws -> Void
  ) async throws {
    let ticket = try await begin(rank)
    do {
      try await make(attempt, ticket, rank, timeouts, time, isLinked)
      end(ticket)
    } catch let error as PhaseTimeout {
      listen(after: ticket, for: timeouts.listening, time)
      throw error
    } catch {
      end(ticket)
      throw error
    }
  }

  private func make(
    _ attempt: @escaping @Sendable () async throws -> Void, _ ticket: Int, _ rank: Rank,
    _ timeouts: CentralConfiguration.Timeouts, _ time: TimeSource, _ isLinked: @escaping @Sendable () async -> Bool
  ) async throws {
    let began = time.now
    try await time.withLimit(timeouts.connect, orThrow: PhaseTimeout("connecting", timeouts.connect)) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask(operation: attempt)
        group.addTask {
          try await time.sleep(for: timeouts.turn)
          guard await isLinked() else { throw PhaseTimeout("connecting", timeouts.turn) }
          await self.end(ticket)
          // A link that is lost from now on fails the attempt itself, and the limit on its whole time comes before this one.
          try await time.sleep(for: timeouts.connect)
          throw PhaseTimeout("connecting", timeouts.connect)
        }
        if rank.failures > 0 {
          group.addTask {
            await self.waitForAnother(ticket)
            // A cancelled attempt is no timeout, after which the scan would listen first.
            try Task.checkCancellation()
            guard await isLinked() else { throw PhaseTimeout("connecting", time.now - began) }
            try await time.sleep(for: timeouts.connect)
            throw PhaseTimeout("connecting", timeouts.connect)
          }
        }
        defer { group.cancelAll() }
        try await group.next()
      }
    }
  }

  private func begin(_ rank: Rank) async throws -> Int {
    try Task.checkCancellation()
    let ticket = nextTicket
    nextTicket += 1
    switch state {
    case .dialing: break
    case .listening where rank.failures > 0: break
    case .free, .listening:
      state = .dialing(ticket)
      return ticket
    }
    if rank.failures == 0, case .dialing(let other) = state { yielding.removeValue(forKey: other)?.resume() }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation {
        waiters.append(Waiter(ticket: ticket, rank: rank, continuation: $0))
      }
    } onCancel: {
      Task { await self.cancel(ticket) }
    }
    return ticket
  }

  /// Waits until a phone that has not failed yet waits for the turn of an attempt, or until the task is cancelled.
  private func waitForAnother(_ ticket: Int) async {
    if waiters.contains(where: { $0.rank.failures == 0 }) { return }
    await withTaskCancellationHandler {
      await withCheckedContinuation { yielding[ticket] = $0 }
    } onCancel: {
      Task { await self.stopWaiting(ticket) }
    }
  }

  private func stopWaiting(_ ticket: Int) { yielding.removeValue(forKey: ticket)?.resume() }

  /// Gives the turn of an attempt to the next phone, if the attempt has not given it yet.
  private func end(_ ticket: Int) {
    guard case .dialing(ticket) = state else { return }
    giveTurn()
  }

  private func giveTurn() {
    // The first one of equals has waited longest.
    guard var next = waiters.indices.first else {
      state = .free
      return
    }
    for index in waiters.indices where waiters[index].rank.comes(before: waiters[next].rank) { next = index }
    let waiter = waiters.remove(at: next)
    state = .dialing(waiter.ticket)
    waiter.continuation.resume()
  }

  /// Gives the turn to a phone that has not failed yet, or to the next one when the scan has listened for a time.
  private func listen(after ticket: Int, for pause: Duration, _ time: TimeSource) {
    guard case .dialing(ticket) = state else { return }
    guard pause > .zero, !waiters.contains(where: { $0.rank.failures == 0 }) else { return giveTurn() }
    let number = nextTicket
    nextTicket += 1
    state = .listening(number)
    Task { [weak self] in
      // Nobody cancels it: whoever waits must get the turn.
      do { try await time.sleep(for: pause) } catch {}
      await self?.endListening(number)
    }
  }

  private func endListening(_ number: Int) {
    guard case .listening(number) = state else { return }
    giveTurn()
  }

  private func cancel(_ ticket: Int) {
    guard let index = waiters.firstIndex(where: { $0.ticket == ticket }) else { return }
    waiters.remove(at: index).continuation.resume(throwing: CancellationError())
  }
}
