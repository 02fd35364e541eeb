/// The connection to the coordinator, judged by its answers to registrations and heartbeats.
struct CoordinatorConnection: Sendable, Hashable {
  /// The failures in a row, and the reason of the newest.
  struct Failures: Sendable, Hashable {
    /// The number of requests in a row that failed; 0 when the coordinator answered and rejected the last one.
    var count: Int
    /// The reason of the newest failure, for display.
    var reason: String
    /// The instant of the first of them; `nil` if the coordinator answered.
    var since: Duration?
  }

  /// A refusal of this machine by the coordinator.
  struct Refusal: Sendable, Hashable {
    /// The coordinator's reason, for display.
    var reason: String
    /// The instant until which nothing is sent.
    var until: Duration
  }

  /// The states of the connection.
  enum State: Sendable, Hashable {
    /// The coordinator accepted the last heartbeat.
    case connected
    /// The coordinator accepted a heartbeat, and fewer than ``CoordinatorMachine/failureLimit`` have failed since.
    case failing(Failures)
    /// The coordinator accepts no heartbeat, or has not been asked yet.
    case disconnected(Failures?)
    /// The coordinator refused this machine, and has accepted no heartbeat since.
    case refused(Refusal, Failures)
  }

  /// The state of the connection.
  private(set) var state = State.disconnected(nil)
  /// The earliest instant of the next registration or heartbeat, apart from a refusal.
  private(set) var nextAt: Duration = .zero
  /// A Boolean value that indicates whether the next heartbeat may come later, because nothing depends on it.
  private(set) var mayBeSpared = false

  /// The instant since which the coordinator cannot be reached; `nil` before ``CoordinatorMachine/failureLimit`` failures
  /// in a row.
  var unreachableSince: Duration? {
    guard let failures, failures.count >= CoordinatorMachine.failureLimit else { return nil }
    return failures.since
  }

  /// A Boolean value that indicates whether requests for work and results may be sent.
  var isConnected: Bool {
    switch state {
    case .connected, .failing: true
    case .disconnected, .refused: false
    }
  }

  /// The newest failures, or `nil` after a heartbeat that was accepted.
  var failures: Failures? {
    switch state {
    case .connected: nil
    case .failing(let failures), .refused(_, let failures): failures
    case .disconnected(let failures): failures
    }
  }

  /// The refusal that has not been followed by an accepted heartbeat.
  var refusal: Refusal? { if case .refused(let refusal, _) = state { refusal } else { nil } }

  /// The instant at which the next registration or heartbeat is due.
  var dueAt: Duration { max(nextAt, refusal?.until ?? nextAt) }

  /// Starts again: nothing is connected until a heartbeat is accepted.
  mutating func start(at now: Duration) {
    if isConnected { state = .disconnected(failures) }
    nextAt = min(nextAt, now)
  }

  /// Notes that the coordinator accepted a heartbeat.
  mutating func accept(next: Duration) {
    state = .connected
    nextAt = next
    mayBeSpared = true
  }

  /// Notes that the coordinator answered, and did not recognize this machine.
  mutating func reject(_ reason: String) {
    let failures = Failures(count: failures?.count ?? 0, reason: reason)
    state = refusal.map { .refused($0, failures) } ?? .disconnected(failures)
  }

  /// Notes that the coordinator refused this machine.
  mutating func refuse(_ reason: String, until: Duration) {
    state = .refused(Refusal(reason: reason, until: until), Failures(count: failures?.count ?? 0, reason: reason))
  }

  /// Counts a registration or heartbeat that failed.
  /// - Returns: The number of failures in a row.
  mutating func fail(_ reason: String, at now: Duration, random: Double) -> Int {
    let failures = Failures(count: (failures?.count ?? 0) + 1, reason: reason, since: failures?.since ?? now)
    mayBeSpared = false
    switch state {
    case .connected, .failing:
      state = failures.count < CoordinatorMachine.failureLimit ? .failing(failures) : .disconnected(failures)
    case .disconnected: state = .disconnected(failures)
    case .refused(let refusal, _): state = .refused(refusal, failures)
    }
    nextAt = now + CoordinatorMachine.backoff.delay(afterFailures: failures.count, random: random)
    return failures.count
  }

  /// Lets the next registration or heartbeat be sent at once.
  mutating func hurry(at now: Duration) {
    nextAt = now
    mayBeSpared = false
  }

  /// Sends nothing before an instant, as the coordinator demands.
  mutating func wait(until instant: Duration) { nextAt = max(nextAt, instant) }

  /// Lets the next registration or heartbeat be sent at once, also after a refusal.
  mutating func askNow(at now: Duration) {
    hurry(at: now)
    if case .refused(var refusal, let failures) = state {
      refusal.until = min(refusal.until, now)
      state = .refused(refusal, failures)
    }
  }
}
