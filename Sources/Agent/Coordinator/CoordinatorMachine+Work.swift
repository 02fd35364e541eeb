internal import SystemState

/// Asking for work, and doing it.
extension CoordinatorMachine {
  /// A task that is worked on.
  struct Job: Sendable, Hashable {
    var task: CoordinatorTask
    var startedAt: Duration
    /// What came of it; `nil` before that is known.
    var work: Work?
    /// When that becomes a result.
    var dueAt: Duration?
  }

  /// From one question for work to the next, when there is none.
  static let idle: Duration = .milliseconds(1200)
  /// The same on battery.
  static let idleOnBattery: Duration = .milliseconds(2500)
  /// From a question that was not asked, for want of power or a model, to the next.
  static let holdPause: Duration = .seconds(15)
  /// After a task that this machine cannot do: the same one would come again.
  static let unusablePause: Duration = .seconds(30)
  /// How old the last heartbeat may be: after a suspend the next one goes first.
  static let heartbeatAge: Duration = .seconds(45)
  /// How many results may wait until no more work is asked for.
  static let resultLimit = 64

  /// When work is asked for; `nil` while something else has to come first.
  var nextPull: Duration? {
    guard isActive, isConnected, !isPulling, job == nil, refusal == nil, hasFreshHeartbeat else { return nil }
    return pullAt
  }

  /// Whether nothing has kept heartbeats from the coordinator for long, such as a sleep of the machine: what that comes
  /// to, the next heartbeat tells.
  var hasFreshHeartbeat: Bool { session.lastHeartbeat.map { now - $0 <= Self.heartbeatAge } ?? false }

  private var pause: Duration { power?.onExternalPower == false ? Self.idleOnBattery : Self.idle }

  mutating func pull(at now: Duration, _ effects: inout [Effect]) {
    if let (reason, until) = hold(at: now) {
      counters.hold(reason)
      pullAt = max(until ?? now + Self.holdPause, now + Self.idle)
      return
    }
    // How long a task takes is known only when it is there.
    if let hold = counters.drops.check(.coordinatorTask(timeLimit: .zero), decision(at: now)) {
      counters.held = hold.reason.rawValue
      pullAt = now + (hold.retryAfter ?? Self.holdPause)
      return
    }
    counters.held = nil
    isPulling = true
    effects.append(.send(.pull, isSigned: signs(.pull, .welcome, at: now)))
  }

  /// Why no work is asked for now, and until when, if that is known.
  private func hold(at now: Duration) -> (reason: String, until: Duration?)? {
    guard model?.isReady == true else { return ("model_not_ready", nil) }
    if results.count >= Self.resultLimit { return ("results_wait", nil) }
    if !unkept.isEmpty { return ("result_not_on_disk", nil) }
    if unsavedUntil != nil { return ("session_not_on_disk", nil) }
    if let until = session.quietUntil, now < until { return ("heartbeat_gap", min(until, now + Self.holdPause)) }
    if session.conduct.heldUntilMs(behind: waiting, atMs: now.wholeMilliseconds) != nil {
      return ("too_many_failures", nil)
    }
    return nil
  }

  private func decision(at now: Duration) -> AssignmentDecision {
    policy.decide(.init(power: power, machine: machine, sinceLastTask: lastTask.map { now - $0 }))
  }

  mutating func endPull(
    _ outcome: Outcome, at now: Duration, _ random: Double, _ effects: inout [Effect]
  ) {
    isPulling = false
    var problem: String
    switch outcome {
    case .none(let error): problem = "\(error)"
    case .answer(let answer):
      switch CoordinatorVerdict(answer) {
      case .done(let body):
        do throws(AgentError) {
          pullFailures = 0
          return take(try body.decoded(as: PullReply.self, from: Call.pull.path), at: now, &effects)
        } catch {
          problem = error.message
        }
      case .unauthorized(let reason):
        pullAt = now + pause
        return unauthorized(reason, at: now, random, &effects)
      case .forbidden(let reason):
        pullAt = now + pause
        return refuse(reason, at: now, &effects)
      case .refused(let reason), .failed(let reason): problem = reason
      }
    }
    pullFailures += 1
    if pullFailures == Self.failuresToTell { effects.append(.log("the coordinator gives no work: \(problem)")) }
    pullAt = now + Self.delays.delay(afterFailures: pullFailures, random: random)
  }

  private mutating func take(_ reply: PullReply, at now: Duration, _ effects: inout [Effect]) {
    pullAt = now + pause
    switch reply {
    case .nothing: break
    case .task(let task):
      let claim = PullReply.Claim(id: task.id, taskID: task.taskID)
      if !isActive { return decline(claim, "this machine has stopped working", at: now) }
      if let hold = counters.drops.check(.coordinatorTask(timeLimit: task.timeLimit), decision(at: now)) {
        return decline(claim, hold.reason.rawValue, at: now)
      }
      job = Job(task: task, startedAt: now)
      lastTask = now
      effects.append(.work(task))
    case .deferred(let reason, let pause):
      counters.hold(reason)
      pullAt = now + max(pause ?? Self.holdPause, Self.idle)
    case .unusable(let reason, let claim):
      counters.hold(reason)
      pullAt = now + Self.unusablePause
      if let claim { decline(claim, reason, at: now) }
    case .blocked(let reason): refuse(reason, at: now, &effects)
    }
  }

  /// The task is this machine's already: the coordinator need not wait until it takes it back.
  private mutating func decline(_ claim: PullReply.Claim, _ reason: String, at now: Duration) {
    job = Job(
      task: CoordinatorTask(id: claim.id, taskID: claim.taskID, input: ""), startedAt: now, work: .failed(reason),
      dueAt: now + .milliseconds(Conduct.leastMs))
  }

  mutating func worked(_ work: Work, at now: Duration, _ random: Double) {
    guard var job, job.work == nil else { return }
    let took = (now - job.startedAt).wholeMilliseconds
    let pause = session.conduct.pauseMs(after: took, behind: waiting, random: random)
    (job.work, job.dueAt) = (work, now + .milliseconds(pause))
    self.job = job
  }

  /// What is still to be sent.
  private var waiting: [ResultRequest] { results.map(\.result) }

  mutating func finishJob(at now: Duration, _ effects: inout [Effect]) {
    guard let job, let work = job.work else { return }
    self.job = nil
    let result = result(of: job, work, at: now)
    if result.ok { counters.done += 1 } else { counters.failed += 1 }
    let entry = ResultOutbox.Entry(number: nextResult, result: result)
    nextResult += 1
    results.append(entry)
    effects.append(.keep(entry))
    pullAt = max(pullAt, now + pause)
  }

  private func result(of job: Job, _ work: Work, at now: Duration) -> ResultRequest {
    var (output, problem): (String, String?)
    switch work {
    case .failed(let reason): (output, problem) = ("", reason)
    case .answered(let text) where text.allSatisfy(\.isWhitespace):
      (output, problem) = ("", "the model's answer is empty")
    case .answered(let text) where text.utf8.count > ResultOutbox.outputLimit:
      (output, problem) = ("", "the answer has more than \(ResultOutbox.outputLimit) bytes")
    case .answered(let text):
      (output, problem) = (text, session.conduct.objection(to: text, behind: waiting, atMs: now.wholeMilliseconds))
    }
    if let reason = problem {
      // With the task's number, for three failures alike in a row are a ban as well, and so are empty ones.
      (output, problem) = ("Task \(job.task.id) has failed: \(reason.prefix(500))", String(reason.prefix(500)))
    }
    return ResultRequest(
      subtaskId: job.task.id, taskId: job.task.taskID, agentId: agentID, ok: problem == nil, output: output,
      error: problem, durationMs: (now - job.startedAt).wholeMilliseconds)
  }
}
