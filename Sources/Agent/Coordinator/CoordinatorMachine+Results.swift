/// Results on their way to the coordinator: one at a time, the oldest first.
extension CoordinatorMachine {
  /// How often the coordinator may fail at one result, while it takes heartbeats, until that is given up: it answers
  /// with such an error also to what it does not understand.
  static let attemptLimit = 200

  /// When the oldest is sent; `nil` while something else has to come first. Also while it is to stop, for a moment.
  var nextPost: Duration? {
    guard !isSilent, !results.isEmpty, posting == nil, isConnected, refusal == nil, hasFreshHeartbeat else {
      return nil
    }
    return max(postAt, session.quietUntil ?? postAt)
  }

  /// Whether nothing is under way that is worth waiting for.
  var isSettled: Bool {
    control == nil && job == nil && !isPulling && posting == nil && (nextPost.map { $0 > now } ?? true)
  }

  mutating func post(at now: Duration, _ effects: inout [Effect]) {
    var entry = results[0]
    entry.result = session.conduct.asSent(entry.result)
    if let until = session.conduct.waitUntilMs(for: entry.result, atMs: now.wholeMilliseconds) {
      postAt = max(.milliseconds(until), now + Self.idle)
      return
    }
    posting = entry
    // Before it is sent: a crash must not make it forgotten.
    session.conduct.note(entry.result, atMs: now.wholeMilliseconds)
    // The disk may have room again.
    if unkept.remove(entry.number) != nil { effects.append(.keep(results[0])) }
    let call = Call.result(entry.number)
    effects.append(.send(call, isSigned: signs(call, .needed, at: now)))
  }

  mutating func endPost(
    _ number: Int, _ outcome: Outcome, at now: Duration, _ random: Double, _ effects: inout [Effect]
  ) {
    posting = nil
    switch outcome {
    case .none(let error):
      if !error.mayHaveArrived { session.conduct.takeBack() }
      fail(at: now, random)
    case .answer(let answer):
      switch CoordinatorVerdict(answer) {
      case .done: discard(number, &effects)
      case .unauthorized(let reason):
        postAt = now + Self.idle
        unauthorized(reason, at: now, random, &effects)
      case .forbidden(let reason):
        giveUp(number, reason, &effects)
        refuse(reason, at: now, &effects)
      case .refused(let reason): giveUp(number, reason, &effects)
      case .failed(let reason):
        fail(at: now, random)
        if postFailures >= Self.attemptLimit { giveUp(number, reason, &effects) }
      }
    }
  }

  private mutating func fail(at now: Duration, _ random: Double) {
    postFailures += 1
    postAt = now + Self.delays.delay(afterFailures: postFailures, random: random)
  }

  private mutating func giveUp(_ number: Int, _ reason: String, _ effects: inout [Effect]) {
    counters.unwanted += 1
    let task = results.first { $0.number == number }?.result.subtaskId.prefix(100) ?? ""
    effects.append(.log("the coordinator does not take the result of task \(task): \(reason)"))
    discard(number, &effects)
  }

  private mutating func discard(_ number: Int, _ effects: inout [Effect]) {
    postFailures = 0
    results.removeAll { $0.number == number }
    unkept.remove(number)
    effects.append(.discard(number))
  }
}
