internal import Places
internal import Timing

/// The state machine of a loop: it decides when which test begins.
///
/// It performs nothing and has no clock. Five rules hold after any events:
///
/// 1. A test begins only after its begin was stored, so that no test begins twice, however often the program is killed.
/// 2. The next test begins no earlier than the delay after the start of the previous one, or at the distance from its
///    place, whichever comes first. The first test is due at once.
/// 3. A test begins, and runs, only while somebody is at the machine; a plan may say that this does not matter. A test that
///    loses its user is aborted, and counts.
/// 4. A test that fails, or that the end of the program interrupts, is repeated once after 60 s. Then the loop
///    waits as if the test had run.
/// 5. The machine is kept awake while the next test is not due yet, and in no other phase.
public struct LoopMachine: Sendable {
  /// The state that survives the program.
  public private(set) var state: LoopState
  /// The presence of a user; `nil` before it is known, when nobody is asked for either.
  private var presence: LoopPresence?
  /// The newest location that counts, and its time.
  private var newest: (place: Place, time: LoopStopwatch)?
  private var isHeld = false

  /// The longest time after which the night hours are computed anew, because somebody may set the clock meanwhile.
  private static let nightInterval: Int64 = 3_600_000

  /// Creates a machine for a new loop, or for one that an earlier program has left.
  public init(_ state: LoopState) { self.state = state }

  /// The largest error in metres of a location that counts.
  private var largestError: Double { state.plan.largestError }

  /// A Boolean value that indicates whether locations matter now.
  public var needsLocation: Bool {
    guard state.plan.movement != nil else { return false }
    switch state.phase {
    case .waiting(_, isRetry: false): return true
    case .waiting, .ready, .testing: return state.reference == nil
    case .aborting, .finished: return false
    }
  }

  /// Accepts an event and returns the actions to perform.
  public mutating func handle(_ event: Event, at now: LoopInstant) -> [Action] {
    let before = state
    _ = state.stopwatch?.read(at: now)
    _ = state.notices.last?.read(at: now)
    var actions: [Action] = []
    let isFirst = if case .launch = event { true } else { false }
    apply(event, now, &actions)
    settle(now, &actions)
    let holds = if case .waiting = state.phase { true } else { false }
    if holds != isHeld {
      isHeld = holds
      // Released before a test begins, and held after everything else.
      if holds { actions.append(.hold) } else { actions.insert(.release, at: 0) }
    }
    if isFirst || !state.isStored(as: before) { actions.insert(.save, at: 0) }
    return actions
  }

  /// Returns the milliseconds until time alone changes something; `nil` if it does not.
  public func wait(at now: LoopInstant) -> Int64? {
    switch state.phase {
    case .waiting(let dueMs, _):
      var stopwatch = state.stopwatch
      return max(dueMs - (stopwatch?.read(at: now) ?? 0), 0)
    case .ready where presence == .away && !isPresent:
      var notices = state.notices
      let wait = notices.wait(state.plan, at: now)
      return state.plan.nightHours == nil ? wait : min(wait, Self.nightInterval)
    case .ready, .testing, .aborting, .finished: return nil
    }
  }

  // MARK: Events

  private mutating func apply(_ event: Event, _ now: LoopInstant, _ actions: inout [Action]) {
    switch event {
    case .launch(let stored): launch(stored, now, &actions)
    case .timePassed: break
    case .location(let fix): locate(fix, now)
    case .presence(let new):
      presence = new
      if state.phase == .testing, !isPresent { abort(.backgrounded, &actions) }
    case .tested(let outcome): tested(outcome, now, &actions)
    case .stop:
      switch state.phase {
      case .testing, .aborting: abort(.stopped, &actions)
      case .waiting, .ready: finish(.stopped, &actions)
      case .finished: break
      }
    }
  }

  private mutating func launch(_ stored: LoopOutcome?, _ now: LoopInstant, _ actions: inout [Action]) {
    guard state.running != nil else { return }
    tested(stored ?? LoopOutcome(.interrupted, reason: "the program ended during the test"), now, &actions)
  }

  private mutating func locate(_ fix: LoopFix, _ now: LoopInstant) {
    guard fix.counts(within: largestError) else { return }
    newest = (fix.place, LoopStopwatch(at: now))
    // The first one since the test began; before it there was none that was recent.
    guard state.reference == nil, !state.history.isEmpty, state.ending == nil else { return }
    state.reference = fix.place
    if state.running != nil { state.history[state.history.count - 1].place = fix.place }
  }

  private mutating func tested(_ outcome: LoopOutcome, _ now: LoopInstant, _ actions: inout [Action]) {
    guard let running = state.running, let elapsed = state.stopwatch?.read(at: now) else { return }
    var outcome = outcome
    var isStopped = false
    if case .aborting(let reason) = state.phase {
      isStopped = reason == .stopped
      // A test that was quicker than its abort is complete.
      if outcome.status != .completed { outcome.status = reason }
    }
    state.history[state.history.count - 1].outcome = outcome
    if outcome.status != .interrupted { state.history[state.history.count - 1].durationMs = elapsed }
    if isStopped { return finish(.stopped, &actions) }
    if outcome.isRepeated, running.attempt == 1 {
      state.phase = .waiting(dueMs: elapsed + state.plan.retryMs, isRetry: true)
    } else if running.number >= state.plan.tests {
      finish(.completed, &actions)
    } else {
      state.phase = .waiting(dueMs: state.plan.delayMs, isRetry: false)
    }
  }

  // MARK: Transitions

  private var isPresent: Bool {
    presence == .present || state.plan.isUnattended && presence != .suspending
  }

  private mutating func abort(_ reason: LoopOutcome.Status, _ actions: inout [Action]) {
    if state.phase == .testing { actions.append(.abort) }
    state.phase = .aborting(reason)
  }

  private mutating func finish(_ ending: LoopEnding, _ actions: inout [Action]) {
    state.phase = .finished(ending)
    actions.append(.finish(ending))
  }

  /// Looks at both conditions and at the presence, after every event.
  private mutating func settle(_ now: LoopInstant, _ actions: inout [Action]) {
    if case .waiting(let dueMs, let isRetry) = state.phase, let elapsed = state.stopwatch?.read(at: now) {
      if elapsed >= dueMs {
        state.phase = .ready(isRetry ? .retry : .time)
      } else if !isRetry, hasMoved(now) {
        state.phase = .ready(.distance)
      }
    }
    guard case .ready(let trigger) = state.phase else { return }
    if isPresent {
      begin(trigger, now, &actions)
    } else if presence == .away {
      notify(trigger, now, &actions)
    }
  }

  private mutating func begin(_ trigger: LoopTrigger, _ now: LoopInstant, _ actions: inout [Action]) {
    let here = recent(now)
    let moved = here.flatMap { here in state.reference.map { here.distance(to: $0) } }
    let isRetry = trigger == .retry
    let test = LoopTest(
      number: isRetry ? state.counter : state.counter + 1, attempt: isRetry ? 2 : 1, trigger: trigger,
      startMs: now.wallMs, moved: moved, place: here)
    state.history.append(test)
    state.stopwatch = LoopStopwatch(at: now)
    state.reference = here
    state.phase = .testing
    // Somebody came.
    state.notices.ignored = 0
    actions.append(.begin(test))
  }

  private mutating func notify(_ trigger: LoopTrigger, _ now: LoopInstant, _ actions: inout [Action]) {
    guard state.notices.wait(state.plan, at: now) == 0 else { return }
    state.notices.last = LoopStopwatch(at: now)
    state.notices.ignored += 1
    let number = trigger == .retry ? state.counter : state.counter + 1
    actions.append(.notify(LoopNotice(number: number, tests: state.plan.tests, trigger: trigger)))
  }

  // MARK: Place

  /// The newest location, if it is recent.
  private func recent(_ now: LoopInstant) -> Place? {
    guard let newest else { return nil }
    var time = newest.time
    return time.read(at: now) <= LoopFix.longestAge.milliseconds(rounded: .up) ? newest.place : nil
  }

  private func hasMoved(_ now: LoopInstant) -> Bool {
    guard let movement = state.plan.movement, let moved = moved(at: now) else { return false }
    return moved >= movement
  }

  /// Returns the distance in metres from the reference; `nil` without a reference, or a recent location that counts.
  public func moved(at now: LoopInstant) -> Double? {
    recent(now).flatMap { here in state.reference.map { here.distance(to: $0) } }
  }
}
