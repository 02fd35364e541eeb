import Streams

extension Central {
  /// An event of the attempts to get one request answered.
  private enum AttemptEvent: Sendable {
    case finished(Int, Result<ReceivedReply, any Error>, phone: String)
    /// The phone of the newest attempt has given no sign of life for its time.
    case late
  }

  /// Sends a request to the best phone, and to the next one when that fails or stays mute; the first text wins.
  ///
  /// A request goes to each phone once. An attempt whose phone delivers text, or the whole reply, ends all others, so no
  /// text arrives twice and none is mixed.
  /// - Parameters:
  ///   - request: The request.
  ///   - onAttempt: Called with the name of the phone of each attempt.
  ///   - onPart: Receives the parts of the reply of the attempt that wins.
  func deliver(
    _ request: Wire.Request, onAttempt: @Sendable @escaping (String) -> Void,
    onPart: @Sendable @escaping (ReplyPart, _ phone: String) async -> Void
  ) async throws -> (ReceivedReply, phone: String) {
    let race = Race()
    let first = try await acquire(for: request.details)
    return try await withThrowingTaskGroup(of: AttemptEvent.self) { group in
      defer { group.cancelAll() }
      var tried: Set<PhoneID> = []
      func start(_ phone: ReconnectingPhone, in group: inout ThrowingTaskGroup<AttemptEvent, any Error>) {
        let number = tried.count
        tried.insert(phone.id)
        onAttempt(phone.name)
        group.addTask { await self.attempt(request, number, on: phone, race, onPart) }
        addTimer(patience(with: phone.id), to: &group)
      }
      start(first, in: &group)
      var running = 1
      while let event = try await group.next() {
        switch event {
        case .late:
          guard !race.isWon, !Task.isCancelled else { continue }
          if let next = reserve(for: request.details, excluding: tried) {
            start(next, in: &group)
            running += 1
          } else {
            addTimer(configuration.requests.failoverDelay, to: &group)
          }
        case .finished(let number, .success(let reply), let phone):
          if race.win(number) { return (reply, phone) }
        case .finished(let number, .failure(let error), _):
          running -= 1
          // The error of an attempt that lost is not the request's.
          if race.isWon, !race.win(number) { continue }
          guard !race.isWon, Self.mayTryNext(after: error), !Task.isCancelled else { throw error }
          if running > 0 { continue }
          guard let next = reserve(for: request.details, excluding: tried) else { throw error }
          start(next, in: &group)
          running += 1
        }
      }
      throw CancellationError()
    }
  }

  private func addTimer(_ delay: Duration, to group: inout ThrowingTaskGroup<AttemptEvent, any Error>) {
    let time = context.time
    group.addTask {
      // Cancelled with the group: nothing looks at the event then.
      do { try await time.sleep(for: delay) } catch {}
      return .late
    }
  }

  private func attempt(
    _ request: Wire.Request, _ number: Int, on phone: ReconnectingPhone, _ race: Race,
    _ onPart: @Sendable @escaping (ReplyPart, _ phone: String) async -> Void
  ) async -> AttemptEvent {
    let started = context.time.now
    let task = Task {
      try await phone.send(request) { part in
        if case .waiting = part {
          // Another phone may be free, so this wins nothing.
          if !race.isWon { await onPart(part, phone.name) }
          return
        }
        guard race.win(number) else { return }
        await self.gaveSign(phone.id, after: started)
        await onPart(part, phone.name)
      }
    }
    race.add(task, number)
    let result = await withTaskCancellationHandler {
      await task.result
    } onCancel: {
      task.cancel()
    }
    if case .success = result { gaveSign(phone.id, after: started) }
    release(phone.id)
    return .finished(number, result, phone: phone.name)
  }

  /// Returns `true` if another phone may still answer after an error.
  private static func mayTryNext(after error: any Error) -> Bool {
    guard let error = error as? InferenceError else { return false }
    return [.disconnected, .writeFailed, .badReply].contains(error.code)
  }

  // MARK: Patience

  /// Returns the time in which a phone must give the first sign of its reply before another one is asked, too.
  ///
  /// A phone that has answered on this connection gets twice as long as it has needed.
  private func patience(with phone: PhoneID) -> Duration {
    max(configuration.requests.failoverDelay, (slowestSigns[phone] ?? .zero) * 2)
  }

  private func gaveSign(_ phone: PhoneID, after started: Duration) {
    slowestSigns[phone] = max(slowestSigns[phone] ?? .zero, context.time.now - started)
  }
}

/// The attempts of one request, of which one wins.
private final class Race: Sendable {
  private struct State {
    var winner: Int?
    var tasks: [Int: Task<ReceivedReply, any Error>] = [:]
  }

  private let state = Lock(State())

  var isWon: Bool { state.withLock { $0.winner != nil } }

  func add(_ task: Task<ReceivedReply, any Error>, _ number: Int) {
    let isLost = state.withLock { state in
      state.tasks[number] = task
      return state.winner != nil
    }
    if isLost { task.cancel() }
  }

  /// Lets an attempt win if none has won, and cancels the others.
  /// - Returns: `true` if the attempt has won, now or before.
  func win(_ number: Int) -> Bool {
    let (hasWon, losers) = state.withLock { state -> (Bool, [Task<ReceivedReply, any Error>]) in
      guard state.winner == nil else { return (state.winner == number, []) }
      state.winner = number
      return (true, state.tasks.filter { $0.key != number }.map(\.value))
    }
    for task in losers { task.cancel() }
    return hasWon
  }
}
