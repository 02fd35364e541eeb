internal import Timing

/// The state machine of the schedule: it decides when a run happens, and what a run leaves behind.
///
/// The rules, each of them the same whether the queue contains messages or only covers:
///
/// 1. A start or resume runs at once if a run is owed, then schedules a tick after the random delay and ten minutes.
/// 2. A stop or suspend schedules a tick after the random delay. So does a tick, before it runs.
/// 3. All of them record that a run is owed; only a completed run clears that.
/// 4. A run is skipped before the minimum interval has passed since the last one, or the back-off since a failed one.
/// 5. A run is completed when all its messages were sent. A failed or interrupted one is owed, and its retry sends only
///    the remainder, so that the number of messages an hour never exceeds that of a run.
///
/// ```swift
/// var machine = SendingMachine(policy: .usual)
/// let actions = machine.handle(.started, at: 1_700_000_000_000, draw: 0.5)
/// print(actions)  // rewrite the queue, save the record, tick in 1015 s
/// ```
public struct SendingMachine: Sendable, Hashable {
  /// The events that the state machine accepts.
  public enum Event: Sendable, Hashable {
    /// The program has started, or the host has resumed from suspend.
    case started
    /// The program is about to stop, or the host to suspend.
    case stopping
    /// The timer of the schedule has fired.
    case ticked
    /// The server has one more message of the run.
    case sent
    /// The run has ended, after as many ``sent`` as there were.
    case ended(Ending)
  }

  /// The way in which a run ended.
  public enum Ending: Sendable, Hashable {
    /// All attempts of the run were made.
    case attempted
    /// Nothing was sent, because no cover could be made.
    case withoutCovers
    /// The run stopped because the record or the queue could not be written to disk.
    case notStored
    /// The program stopped the run.
    case cancelled
  }

  /// The actions that the owner of the state machine performs, in order.
  public enum Action: Sendable, Hashable {
    /// Writes the queue's file again, changed or not.
    case rewriteQueue
    /// Writes the record to disk durably.
    case save(SendingRecord)
    /// Makes this number of attempts, then reports ``Event/ended(_:)``.
    case send(Int)
    /// Replaces the timer of the schedule; the first action, so that it is set even if the disk is full.
    case arm(Duration)
    /// Reports the outcome of a tick or a run.
    case report(SendingOutcome)
  }

  /// A run in progress.
  private struct Run: Hashable {
    var start: Int64
    var isInline: Bool
  }

  /// The state that survives a restart.
  public private(set) var record: SendingRecord
  private let policy: SendingPolicy
  private var run: Run?

  /// A Boolean value that indicates whether a run is in progress.
  public var isRunning: Bool { run != nil }

  /// Creates a state machine that continues from a record.
  public init(record: SendingRecord = SendingRecord(), policy: SendingPolicy) {
    self.record = record
    self.policy = policy
  }

  /// Handles an event and returns what to do.
  /// - Parameters:
  ///   - event: The event; a start, stop or tick during a run has no effect besides the report that it was too early.
  ///   - now: The wall-clock time in milliseconds since 1970.
  ///   - draw: A number drawn uniformly from 0 up to, but not including, 1.
  /// - Returns: The actions to perform, in order.
  public mutating func handle(_ event: Event, at now: Int64, draw: Double) -> [Action] {
    switch event {
    case .started: isRunning ? [.report(.busy)] : started(now, draw)
    case .stopping: isRunning ? [.report(.busy)] : stopping(now, draw)
    case .ticked: isRunning ? [.report(.busy)] : ticked(now, draw)
    case .sent: sent()
    case .ended(let ending): ended(ending, now, draw)
    }
  }

  private mutating func started(_ now: Int64, _ draw: Double) -> [Action] {
    record.lastTrigger = now
    guard record.isPending else { return [schedule(after: failsafe(draw), now), .rewriteQueue, .save(record)] }
    guard isPermitted(now) else {
      return [schedule(after: failsafe(draw), now), .rewriteQueue, .save(record), .report(.skipped)]
    }
    let count = begin(now, isInline: true)
    return [.rewriteQueue, .save(record), .send(count)]
  }

  private mutating func stopping(_ now: Int64, _ draw: Double) -> [Action] {
    [schedule(after: policy.delay.delay(at: draw), now), .rewriteQueue, .save(record)]
  }

  private mutating func ticked(_ now: Int64, _ draw: Double) -> [Action] {
    record.lastTrigger = now
    // The next tick is there before the run begins, so that nothing that happens to the run ends the schedule.
    let next = schedule(after: policy.delay.delay(at: draw), now)
    guard isPermitted(now) else { return [next, .rewriteQueue, .save(record), .report(.skipped)] }
    let count = begin(now, isInline: false)
    return [next, .rewriteQueue, .save(record), .send(count)]
  }

  private mutating func begin(_ now: Int64, isInline: Bool) -> Int {
    let whole = UInt32(clamping: policy.messagesPerRun)
    if record.remaining == 0 || record.remaining > whole { record.remaining = whole }
    record.isPending = true
    run = Run(start: now, isInline: isInline)
    return Int(record.remaining)
  }

  private mutating func sent() -> [Action] {
    guard let run, record.remaining > 0 else { return [] }
    record.remaining -= 1
    // In one write with the last message, so that a crash after it does not repeat the run.
    if record.remaining == 0 {
      record.lastRun = run.start
      record.isPending = false
      record.failures = 0
      record.lastFailure = nil
    }
    return [.save(record)]
  }

  private mutating func ended(_ ending: Ending, _ now: Int64, _ draw: Double) -> [Action] {
    guard let run else { return [] }
    self.run = nil
    let outcome = record.remaining == 0 ? .done : outcome(of: ending, now)
    let backoff = outcome == .failed ? backoff : nil
    var actions: [Action] = []
    if run.isInline {
      // The failsafe follows every start, but never comes before the back-off has passed.
      actions = [schedule(after: max(failsafe(draw), backoff ?? .zero), now)]
    } else if let backoff {
      actions = [schedule(after: backoff, now)]
    }
    return actions + [.save(record), .report(outcome)]
  }

  /// Records a run that has not sent all its messages.
  private mutating func outcome(of ending: Ending, _ now: Int64) -> SendingOutcome {
    // A run that sent nothing is repeated as a whole, also after the number of messages has been changed.
    if record.remaining == UInt32(clamping: policy.messagesPerRun) { record.remaining = 0 }
    switch ending {
    case .attempted:
      record.failures += record.failures == .max ? 0 : 1
      record.lastFailure = now
      return .failed
    case .withoutCovers: return .withoutCovers
    case .notStored: return .notStored
    case .cancelled: return .cancelled
    }
  }

  private var backoff: Duration { policy.backoff.delay(afterFailures: Int(record.failures), random: 0) }

  private func failsafe(_ draw: Double) -> Duration { policy.delay.delay(at: draw) + policy.failsafe }

  /// Records that a run is owed, and the instant of the next tick.
  private mutating func schedule(after delay: Duration, _ now: Int64) -> Action {
    record.isPending = true
    record.due = now.addingClamped(delay.milliseconds(rounded: .up))
    return .arm(delay)
  }

  private func isPermitted(_ now: Int64) -> Bool {
    guard SendingPolicy.shouldExecute(now: now, lastRun: record.lastRun, minimum: policy.minimumInterval) else {
      return false
    }
    guard record.failures > 0 else { return true }
    return SendingPolicy.shouldExecute(now: now, lastRun: record.lastFailure, minimum: backoff)
  }

  /// The time until the next tick; `nil` before the first event, and zero when one is due.
  public func delay(at now: Int64) -> Duration? {
    guard let due = record.due else { return nil }
    return dueEvent(at: now) == nil ? .milliseconds(due.subtractingClamped(now)) : .zero
  }

  /// Returns the event that is due for a program that another one starts at intervals; `nil` if nothing is.
  ///
  /// A tick further away than the schedule ever waits was planned before the clock was set back.
  /// - Parameters:
  ///   - now: The wall-clock time in milliseconds since 1970.
  ///   - boot: The wall-clock time at which the host started: what was recorded before was another program's, and the
  ///     first event after a boot is a start, as for a program that stays. `nil` if that does not matter.
  public func dueEvent(at now: Int64, bootedAt boot: Int64? = nil) -> Event? {
    guard let due = record.due else { return .started }
    if let boot, (record.lastTrigger ?? .min) < boot { return .started }
    let wait = due.subtractingClamped(now)
    return wait <= 0 || wait > policy.longestWait.milliseconds(rounded: .up) ? .ticked : nil
  }
}

/// The outcome of a tick, the same whatever the queue contains.
///
/// ```swift
/// let outcome = SendingOutcome.withoutCovers
/// print(outcome)  // no_covers
/// ```
public enum SendingOutcome: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
  /// The run has sent all its messages.
  case done
  /// The run was too early after the last one, or after a failed one.
  case skipped
  /// The run has not sent all its messages; the remainder is retried after the back-off.
  case failed
  /// The run has sent nothing, because no cover could be made: the recipients' keys are missing or have expired.
  case withoutCovers = "no_covers"
  /// The run was stopped, or did not begin, because the state could not be written to disk.
  case notStored = "not_stored"
  /// The run was stopped with the program; the remainder is sent after the next start.
  case cancelled
  /// Another run is in progress, in this process or in another one; nothing was changed.
  case busy

  /// The outcome as one word, for a log.
  public var description: String { rawValue }
}
