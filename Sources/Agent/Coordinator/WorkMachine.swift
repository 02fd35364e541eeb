internal import SystemState
import Timing

/// The state machine of the work: asking the coordinator for a task, working on it, and turning the outcome into a
/// result.
///
/// Each accepted task leads to exactly one result.
struct WorkMachine: Sendable {
  /// A task of the coordinator's that this machine has accepted.
  struct Job: Sendable, Hashable {
    var task: CoordinatorTask
    var startedAt: Duration
    /// The earliest instant of the next request for work.
    var nextPullAt: Duration
  }

  /// The states of the work.
  enum State: Sendable, Hashable {
    /// There is no task; the next request for work is due at this instant.
    case idle(until: Duration)
    /// A request for work is under way.
    case pulling
    /// The engine works on a task.
    case working(Job)
  }

  /// The events that the state machine accepts.
  enum Event: Sendable {
    /// The time has come to ask for work.
    case pull
    /// The request for work has ended.
    case pulled(CoordinatorMachine.Outcome)
    /// The state of the engine.
    case model(CoordinatorModel)
    /// The task with this identifier has an outcome.
    case worked(String, CoordinatorMachine.Work)
    /// No more work is done.
    case stop
    /// The task becomes a result at once, without an outcome if need be.
    case leave
    /// The next request for work is due now.
    case askNow
  }

  /// The actions that the state machine's owner performs.
  enum Action: Sendable, Hashable {
    /// Ask the coordinator for work.
    case pull
    /// Work on this task.
    case work(CoordinatorTask)
    /// End the work soon.
    case cancelWork
    /// Send this result.
    case finish(ResultRequest)
    /// Write this into the event log.
    case log(String)
    /// Report that work has begun or ended, in words.
    case tell(String)
    /// Register: the coordinator does not know this machine, for this reason.
    case unauthorized(String)
    /// Send nothing for a while: the coordinator refuses this machine, for this reason.
    case refused(String)
  }

  /// The conditions that the decisions depend on and the state machine does not own.
  struct Conditions: Sendable {
    /// The power supply; `nil` while it is unknown.
    var power: PowerTelemetry?
    /// The load of the machine.
    var machine = MachineTelemetry()
    /// A Boolean value that indicates whether the service is to work.
    var isActive = true
    /// A Boolean value that indicates whether everything that must survive a restart is on disk.
    var isSessionStored = true
    /// The instant until which only heartbeats are sent.
    var quietUntil: Duration?
    /// A Boolean value that indicates whether the traffic of the network is to be spared.
    var isSparing = false
    /// The results that wait, and those that were sent.
    var outbox: OutboxMachine
    /// A number from 0 to 1 that varies delays.
    var random = 0.0
  }

  /// The interval between requests for work when there is none: 1.2 s.
  static let interval: Duration = .milliseconds(1200)
  /// The interval between requests for work on battery: 2.5 s.
  static let intervalOnBattery: Duration = .milliseconds(2500)
  /// The interval between requests for work after a minute without a task: 5 s. It lets the processor sleep.
  static let restingInterval: Duration = .seconds(5)
  /// The time without a task after which requests are spaced by ``restingInterval``.
  static let restsAfter: Duration = .seconds(60)
  /// The least interval between requests for work after ten minutes without a task, when each follows a heartbeat: 10 s.
  static let sleepingInterval: Duration = .seconds(10)
  /// The time without a task after which requests are spaced by ``sleepingInterval``.
  static let sleepsAfter: Duration = .seconds(600)
  /// The interval between requests for work while traffic is to be spared, which is that of heartbeats then.
  static let sparingInterval = HeartbeatMachine.sparingInterval
  /// The delay before work is asked for again when power or the model did not allow it: 15 s.
  static let holdDelay: Duration = .seconds(15)
  /// The delay after a task that this machine cannot do: 30 s. The same task would come again.
  static let unusableDelay: Duration = .seconds(30)
  /// The greatest length of an error in a result, in characters.
  private static let problemLimit = 500

  private(set) var state = State.idle(until: .zero)
  /// The state of the engine; `nil` while it is unknown.
  private(set) var model: CoordinatorModel?
  private(set) var counters = WorkCounters()
  private let agentID: String
  private let policy: AssignmentPolicy
  private var failures = 0
  private var lastTask: Duration?
  /// The instant from which there was no task; `nil` before the first request and while there is one.
  private var idleSince: Duration?
  /// A Boolean value that indicates whether the next request for work does not wait for a heartbeat.
  private var isUrged = false

  /// Creates a state machine without a task.
  init(agentID: String, policy: AssignmentPolicy) {
    self.agentID = agentID
    self.policy = policy
  }

  /// A Boolean value that indicates whether there is a task without a result.
  var hasJob: Bool { if case .working = state { true } else { false } }

  /// The instant at which work may be asked for, or `nil` while that is done or there is a task.
  var nextPull: Duration? { if case .idle(let until) = state { until } else { nil } }

  /// Returns `true` if there was no task for so long that a request for one follows a heartbeat: the processor wakes once
  /// for both, and they share a connection.
  func isAsleep(at now: Duration) -> Bool { !isUrged && idleSince.map { now - $0 >= Self.sleepsAfter } ?? false }

  /// Handles an event.
  /// - Returns: The actions to perform, in this order.
  mutating func handle(_ event: Event, at now: Duration, in conditions: Conditions) -> [Action] {
    switch event {
    case .pull: return pull(at: now, conditions)
    case .pulled(let outcome): return pulled(outcome, at: now, conditions)
    case .model(let model): change(to: model, at: now)
    case .worked(let id, let work):
      // Work that was cancelled may end late, while there is another task.
      if case .working(let job) = state, job.task.id == id { return finish(job, work, at: now, conditions) }
    case .askNow:
      isUrged = true
      switch state {
      case .idle: state = .idle(until: now)
      case .pulling: break
      case .working(var job):
        job.nextPullAt = now
        state = .working(job)
      }
    case .stop: if case .working = state { return [.cancelWork] }
    case .leave:
      if case .working(let job) = state {
        return finish(job, .cancelled("this machine has stopped working"), at: now, conditions)
      }
    }
    return []
  }

  /// Asks for no work before an instant, as the coordinator demands.
  mutating func wait(until instant: Duration) {
    if case .idle(let until) = state { state = .idle(until: max(until, instant)) }
  }

  private mutating func change(to model: CoordinatorModel, at now: Duration) {
    let isReadyNow = model.isReady && self.model?.isReady != true
    self.model = model
    guard isReadyNow else { return }
    // The delay until the next request was that for an engine that is not ready.
    isUrged = true
    switch state {
    case .idle(let until): state = .idle(until: min(until, now))
    case .pulling: break
    case .working(var job):
      job.nextPullAt = min(job.nextPullAt, now)
      state = .working(job)
    }
  }

  // MARK: A task

  private mutating func finish(
    _ job: Job, _ work: CoordinatorMachine.Work, at now: Duration, _ conditions: Conditions
  ) -> [Action] {
    idleSince = now
    state = .idle(until: max(job.nextPullAt, now + interval(conditions, at: now)))
    let result = result(of: job, work, at: now)
    let cancelled = counters.cancelled
    if result.ok {
      counters.done += 1
    } else if case .cancelled = work {
      counters.cancelled += 1
    } else {
      counters.failed += 1
    }
    counters.workedMs += result.durationMs
    let outcome = result.ok ? "done" : counters.cancelled > cancelled ? "cancelled" : "failed"
    return [.finish(result), .tell("task \(job.task.id.prefix(100)) \(outcome) after \(result.durationMs) ms")]
  }

  private func result(of job: Job, _ work: CoordinatorMachine.Work, at now: Duration) -> ResultRequest {
    var output = ""
    var problem: String?
    var verb = "failed"
    switch work {
    case .failed(let reason): problem = reason
    case .cancelled(let reason):
      problem = reason
      verb = "been cancelled"
    case .answered(let text) where text.allSatisfy(\.isWhitespace): problem = "the model's answer is empty"
    case .answered(let text) where text.utf8.count > ResultOutbox.outputLimit:
      problem = "the answer has \(text.utf8.count) bytes; allowed: \(ResultOutbox.outputLimit) bytes"
    case .answered(let text): output = text
    }
    if let reason = problem?.prefix(Self.problemLimit) {
      // With the task's identifier, in words: the coordinator compares failures, too, and counts empty ones.
      output = "Task \(job.task.id) has \(verb): \(reason)"
      problem = String(reason)
    }
    return ResultRequest(
      subtaskId: job.task.id, taskId: job.task.taskID, agentId: agentID, ok: problem == nil, output: output,
      error: problem, durationMs: (now - job.startedAt).milliseconds(rounded: .towardZero))
  }

  // MARK: Asking for work

  private func interval(_ conditions: Conditions, at now: Duration) -> Duration {
    if conditions.isSparing { return Self.sparingInterval }
    if let idle = idleSince.map({ now - $0 }), idle >= Self.restsAfter {
      return idle < Self.sleepsAfter ? Self.restingInterval : Self.sleepingInterval
    }
    return conditions.power?.onExternalPower == false ? Self.intervalOnBattery : Self.interval
  }

  private mutating func pull(at now: Duration, _ conditions: Conditions) -> [Action] {
    guard case .idle = state else { return [] }
    if let hold = hold(at: now, conditions) {
      counters.hold(hold.reason.rawValue)
      state = .idle(until: max(hold.until ?? now + Self.holdDelay, now + Self.interval))
      return []
    }
    // The time limit of a task is known only when it is there.
    if let hold = counters.drops.check(.coordinatorTask(timeLimit: .zero), decision(at: now, conditions)) {
      counters.held = hold.reason.rawValue
      state = .idle(until: now + (hold.retryAfter ?? Self.holdDelay))
      return []
    }
    counters.held = nil
    if idleSince == nil { idleSince = now }
    isUrged = false
    state = .pulling
    return [.pull]
  }

  /// Returns the reason why no work is asked for now, and until when, if that is known.
  private func hold(at now: Duration, _ conditions: Conditions) -> (reason: HoldReason, until: Duration?)? {
    guard model?.isReady == true else { return (.modelNotReady, nil) }
    let outbox = conditions.outbox
    if outbox.items.count >= OutboxMachine.capacity { return (.resultsWait, nil) }
    if outbox.items.contains(where: { !$0.isStored }) { return (.resultNotOnDisk, nil) }
    if !conditions.isSessionStored { return (.sessionNotOnDisk, nil) }
    if let until = conditions.quietUntil, now < until { return (.heartbeatGap, min(until, now + Self.holdDelay)) }
    let nowMs = now.milliseconds(rounded: .towardZero)
    return outbox.conduct.objectionToNext(behind: outbox.results, atMs: nowMs).map { ($0, nil) }
  }

  private func decision(at now: Duration, _ conditions: Conditions) -> AssignmentDecision {
    policy.decide(
      .init(power: conditions.power, machine: conditions.machine, sinceLastTask: lastTask.map { now - $0 }))
  }

  private mutating func pulled(
    _ outcome: CoordinatorMachine.Outcome, at now: Duration, _ conditions: Conditions
  ) -> [Action] {
    let problem: String
    switch outcome {
    case .none(let error): problem = "\(error)"
    case .answer(let answer):
      state = .idle(until: now + interval(conditions, at: now))
      switch CoordinatorVerdict(answer) {
      case .done(let body):
        failures = 0
        do throws(AgentError) {
          let reply = try body.decoded(as: PullReply.self, from: CoordinatorMachine.Call.pull.path)
          return take(reply, at: now, conditions)
        } catch {
          problem = error.message
        }
      case .unauthorized(let reason): return [.unauthorized(reason)]
      case .forbidden(let reason): return [.refused(reason)]
      case .busy(let reason), .refused(let reason), .failed(let reason): problem = reason
      }
    }
    failures += 1
    state = .idle(until: now + CoordinatorMachine.backoff.delay(afterFailures: failures, random: conditions.random))
    return failures == CoordinatorMachine.failureLimit ? [.log("the coordinator gives no work: \(problem)")] : []
  }

  private mutating func take(_ reply: PullReply, at now: Duration, _ conditions: Conditions) -> [Action] {
    var next = now + interval(conditions, at: now)
    switch reply {
    case .nothing: break
    case .task(let task):
      let claim = PullReply.Claim(id: task.id, taskID: task.taskID)
      if !conditions.isActive {
        return decline(claim, .cancelled("this machine has stopped working"), at: now, next, conditions)
      } else if let hold = counters.drops.check(
        .coordinatorTask(timeLimit: task.timeLimit), decision(at: now, conditions))
      {
        return decline(claim, .failed(hold.reason.rawValue), at: now, next, conditions)
      } else {
        idleSince = nil
        state = .working(Job(task: task, startedAt: now, nextPullAt: now + interval(conditions, at: now)))
        lastTask = now
        return [.work(task), .tell("task \(task.id.prefix(100)) begun")]
      }
    case .deferred(let reason, let delay):
      counters.hold(reason)
      next = now + max(delay ?? Self.holdDelay, Self.interval)
    case .unusable(let reason, let claim):
      counters.hold(reason)
      next = now + Self.unusableDelay
      if let claim { return decline(claim, .failed(reason), at: now, next, conditions) }
    case .blocked(let reason): return [.refused(reason)]
    }
    state = .idle(until: next)
    return []
  }

  /// Returns a task that already belongs to this machine, so that the coordinator need not wait until it expires.
  private mutating func decline(
    _ claim: PullReply.Claim, _ work: CoordinatorMachine.Work, at now: Duration, _ next: Duration,
    _ conditions: Conditions
  ) -> [Action] {
    let task = CoordinatorTask(id: claim.id, taskID: claim.taskID, input: "")
    return finish(Job(task: task, startedAt: now, nextPullAt: next), work, at: now, conditions)
  }
}
