/// Lets one operation through at a time, first come, first served.
actor Gate {
  private var isTaken = false
  private var waiting: [(ticket: Int, continuation: CheckedContinuation<Void, any Error>)] = []
  private var nextTicket = 0

  /// Operations under way or waiting.
  var count: Int { (isTaken ? 1 : 0) + waiting.count }

  /// Runs an operation when it is its turn.
  /// - Throws: what the operation throws, or `CancellationError` when cancelled while waiting.
  func pass<Value: Sendable>(_ operation: @Sendable () async throws -> Value) async throws -> Value {
    try await enter()
    defer { leave() }
    return try await operation()
  }

  private func enter() async throws {
    try Task.checkCancellation()
    guard isTaken else {
      isTaken = true
      return
    }
    let ticket = nextTicket
    nextTicket += 1
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiting.append((ticket, $0)) }
    } onCancel: {
      Task { await self.giveUp(ticket) }
    }
  }

  private func leave() {
    guard !waiting.isEmpty else {
      isTaken = false
      return
    }
    waiting.removeFirst().continuation.resume()
  }

  private func giveUp(_ ticket: Int) {
    guard let index = waiting.firstIndex(where: { $0.ticket == ticket }) else { return }
    waiting.remove(at: index).continuation.resume(throwing: CancellationError())
  }
}
