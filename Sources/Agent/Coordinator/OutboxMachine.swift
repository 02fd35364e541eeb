import Timing

/// The state machine of the results on their way to the coordinator: one at a time, the oldest first.
///
/// Each result is kept until the coordinator has accepted or rejected it, and every attempt sends the same bytes. A result
/// with which the machine would look like a forger waits, and newer ones are sent before it.
struct OutboxMachine: Sendable, Hashable {
  /// A result that the coordinator does not have yet.
  struct Item: Sendable, Hashable {
    var entry: ResultOutbox.Entry
    /// A Boolean value that indicates whether the result is on disk.
    var isStored = true
    /// The number of attempts that failed.
    var failures = 0
  }

  /// The states of the outbox.
  enum State: Sendable, Hashable {
    /// No result is under way; the next one may be sent from this instant.
    case waiting(until: Duration)
    /// Until this instant all results would make the machine look like a forger.
    case held(until: Duration)
    /// This result is under way.
    case sending(ResultOutbox.Entry)
  }

  /// The events that the state machine accepts.
  enum Event: Sendable {
    /// A task has ended with this result.
    case add(ResultRequest)
    /// The time has come to send the oldest result.
    case send
    /// The result with this number was sent, with this outcome.
    case ended(Int, CoordinatorMachine.Outcome)
    /// The result with this number could not be written to disk.
    case notStored(Int)
    /// The coordinator has forgotten this machine, and all results before this instant.
    case forgotten(before: Duration?)
  }

  /// The actions that the state machine's owner performs.
  enum Action: Sendable, Hashable {
    /// Write the result to disk.
    case store(ResultOutbox.Entry)
    /// Send the result that ``OutboxMachine/sending`` contains.
    case send(Int)
    /// Remove the result from the disk.
    case discard(Int)
    /// Write this into the event log.
    case log(String)
    /// Register: the coordinator does not know this machine, for this reason.
    case unauthorized(String)
    /// Send nothing for a while: the coordinator refuses this machine, for this reason.
    case refused(String)
  }

  /// The number of failures of one result, while the coordinator accepts heartbeats, after which it is given up: 200.
  ///
  /// A coordinator answers with such an error also to a request that it does not understand.
  static let attemptLimit = 200
  /// The number of waiting results above which no more work is asked for: 64.
  static let capacity = 64

  private(set) var state = State.waiting(until: .zero)
  /// The results that the coordinator does not have yet, the oldest first.
  private(set) var items: [Item]
  /// The results that were sent within the last hour, by which the coordinator judges this machine.
  private(set) var conduct: Conduct
  /// The number of results that the coordinator will never accept.
  private(set) var rejected = 0
  private var nextNumber: Int
  private var failures = 0
  /// The reason why the newest result had to wait; `nil` after one that had not to.
  private var objection: HoldReason?

  /// Creates the state machine with the restored results.
  /// - Parameter nextNumber: The number of the next result.
  init(_ results: [ResultOutbox.Entry], nextNumber: Int, conduct: Conduct) {
    items = results.map { Item(entry: $0) }
    self.nextNumber = nextNumber
    self.conduct = conduct
  }

  /// The results that the coordinator does not have yet, the oldest first.
  var results: [ResultRequest] { items.map(\.entry.result) }

  /// The result under way.
  var sending: ResultOutbox.Entry? { if case .sending(let entry) = state { entry } else { nil } }

  /// Sends no result before an instant, as the coordinator demands.
  mutating func wait(until instant: Duration) {
    switch state {
    case .waiting(let until): state = .waiting(until: max(until, instant))
    case .held(let until): state = .held(until: max(until, instant))
    case .sending: break
    }
  }

  /// The instant at which the next result is due, or `nil` while there is none or one is under way.
  /// - Parameter quietUntil: The instant until which only heartbeats are sent.
  func dueAt(quietUntil: Duration?) -> Duration? {
    if items.isEmpty { return nil }
    return switch state {
    case .waiting(let until), .held(let until): max(until, quietUntil ?? until)
    case .sending: nil
    }
  }

  /// Handles an event.
  /// - Parameter random: A number from 0 to 1 that varies delays.
  /// - Returns: The actions to perform, in this order.
  mutating func handle(_ event: Event, at now: Duration, random: Double = 0) -> [Action] {
    switch event {
    case .add(let result):
      let entry = ResultOutbox.Entry(number: nextNumber, result: result)
      nextNumber += 1
      items.append(Item(entry: entry))
      // It may be sent before those that are held.
      if case .held = state { state = .waiting(until: now) }
      return [.store(entry)]
    case .send: return send(at: now)
    case .ended(let number, let outcome): return ended(number, outcome, at: now, random: random)
    case .notStored(let number):
      if let index = items.firstIndex(where: { $0.entry.number == number }) { items[index].isStored = false }
      return []
    case .forgotten(let before):
      conduct.forget(
        beforeMs: before?.milliseconds(rounded: .towardZero) ?? .min, atMs: now.milliseconds(rounded: .towardZero))
      return []
    }
  }

  private mutating func send(at now: Duration) -> [Action] {
    guard sending == nil else { return [] }
    let nowMs = now.milliseconds(rounded: .towardZero)
    var waits: [(untilMs: Int64, objection: HoldReason)] = []
    for (index, item) in items.enumerated() {
      guard let wait = conduct.wait(for: item.entry.result, atMs: nowMs) else { return send(index, atMs: nowMs) }
      waits.append(wait)
    }
    guard let wait = waits.min(by: { $0.untilMs < $1.untilMs }) else { return [] }
    state = .held(until: max(.milliseconds(wait.untilMs), now + WorkMachine.interval))
    defer { objection = wait.objection }
    return objection == wait.objection
      ? [] : [.log("results wait, for an hour at most: \(wait.objection.description)")]
  }

  private mutating func send(_ index: Int, atMs now: Int64) -> [Action] {
    let item = items[index]
    objection = nil
    state = .sending(item.entry)
    // Before the request is sent: a crash must not make it forgotten.
    conduct.note(item.entry.result, atMs: now)
    guard !item.isStored else { return [.send(item.entry.number)] }
    // The disk may have free space again.
    items[index].isStored = true
    return [.store(item.entry), .send(item.entry.number)]
  }

  private mutating func ended(
    _ number: Int, _ outcome: CoordinatorMachine.Outcome, at now: Duration, random: Double
  ) -> [Action] {
    state = .waiting(until: now)
    switch outcome {
    case .none(let error):
      if !error.mayHaveArrived { conduct.takeBack() }
      _ = fail(number, at: now, random)
      return []
    case .answer(let answer):
      switch CoordinatorVerdict(answer) {
      case .done: return discard(number)
      case .unauthorized(let reason):
        state = .waiting(until: now + WorkMachine.interval)
        return [.unauthorized(reason)]
      case .forbidden(let reason): return reject(number, reason) + [.refused(reason)]
      case .refused(let reason): return reject(number, reason)
      case .busy(let reason):
        conduct.takeBack()
        return fail(number, at: now, random) >= Self.attemptLimit ? reject(number, reason) : []
      case .failed(let reason):
        return fail(number, at: now, random) >= Self.attemptLimit ? reject(number, reason) : []
      }
    }
  }

  /// Counts a failed attempt.
  /// - Returns: The number of failures of this result.
  private mutating func fail(_ number: Int, at now: Duration, _ random: Double) -> Int {
    failures += 1
    state = .waiting(until: now + CoordinatorMachine.backoff.delay(afterFailures: failures, random: random))
    guard let index = items.firstIndex(where: { $0.entry.number == number }) else { return 0 }
    items[index].failures += 1
    return items[index].failures
  }

  private mutating func reject(_ number: Int, _ reason: String) -> [Action] {
    rejected += 1
    let task = items.first { $0.entry.number == number }?.entry.result.subtaskId.prefix(100) ?? ""
    return [.log("the coordinator rejected the result of task \(task): \(reason)")] + discard(number)
  }

  private mutating func discard(_ number: Int) -> [Action] {
    failures = 0
    items.removeAll { $0.entry.number == number }
    return [.discard(number)]
  }
}
