/// The requests that wait for a phone, in the order of arrival.
struct RequestQueue {
  private struct Waiter {
    let ticket: Int
    let details: RequestDetails
    let continuation: CheckedContinuation<ReconnectingPhone, any Error>
  }

  private var waiters: [Waiter] = []
  private var nextTicket = 0

  var count: Int { waiters.count }
  var isEmpty: Bool { waiters.isEmpty }
  /// The details of the first request; `nil` if none waits.
  var first: RequestDetails? { waiters.first?.details }

  /// Returns the ticket for the next request.
  mutating func makeTicket() -> Int {
    defer { nextTicket += 1 }
    return nextTicket
  }

  /// Adds a request at the end of the queue.
  mutating func add(
    _ ticket: Int, _ details: RequestDetails, _ continuation: CheckedContinuation<ReconnectingPhone, any Error>
  ) {
    waiters.append(Waiter(ticket: ticket, details: details, continuation: continuation))
  }

  /// Removes the first request and gives it a phone.
  mutating func resumeFirst(with phone: ReconnectingPhone) {
    waiters.removeFirst().continuation.resume(returning: phone)
  }

  /// Removes the first request and fails it.
  mutating func failFirst(_ error: any Error) { waiters.removeFirst().continuation.resume(throwing: error) }

  /// Removes a request whose caller has cancelled it; has no effect if it does not wait any more.
  mutating func cancel(_ ticket: Int) {
    guard let index = waiters.firstIndex(where: { $0.ticket == ticket }) else { return }
    waiters.remove(at: index).continuation.resume(throwing: CancellationError())
  }

  /// Removes all requests and fails them.
  mutating func failAll(_ error: any Error) {
    for waiter in waiters { waiter.continuation.resume(throwing: error) }
    waiters = []
  }
}
