/// A reason of this program to request no task or to send no result, besides those of ``AssignmentReason``.
///
/// The raw value is for status, metrics and the bus.
enum HoldReason: String, Sendable, Hashable, CaseIterable {
  // The coordinator has nothing that this machine can do.
  case sandboxRequired = "sandbox_required"
  case encryptedTask = "encrypted_task"
  case taskWithoutInput = "task_without_input"
  case powerDeferred = "power_deferred"

  // This machine is not ready.
  case modelNotReady = "model_not_ready"
  case resultsWait = "results_wait"
  case resultNotOnDisk = "result_not_on_disk"
  case sessionNotOnDisk = "session_not_on_disk"

  // The coordinator would take this machine for a forger, or for one that is broken.
  case heartbeatGap = "heartbeat_gap"
  case tooManyFailures = "too_many_failures"
  case answersTooFast = "answers_too_fast"
  case answersTooShort = "answers_too_short"
  case durationsTooAlike = "durations_too_alike"
  case answersRepeat = "answers_repeat"

  /// A reason of the coordinator that this program does not know.
  case other

  /// The reason in words, for display.
  var description: String {
    switch self {
    case .sandboxRequired: "the coordinator's task needs a sandbox, which this agent does not have"
    case .encryptedTask: "the coordinator's task is encrypted, which this agent cannot read"
    case .taskWithoutInput: "the coordinator's task has no prompt"
    case .powerDeferred: "the coordinator gives no task, so that this machine saves power"
    case .modelNotReady: "the engine has no model that is ready"
    case .resultsWait: "too many results wait for the coordinator"
    case .resultNotOnDisk: "a result is not on disk yet"
    case .sessionNotOnDisk: "the session with the coordinator is not on disk yet"
    case .heartbeatGap:
      "no heartbeat reached the coordinator for 5 min, and for an hour it would count each result as suspicious"
    case .tooManyFailures: "nearly all tasks of the last hour have failed"
    case .answersTooFast: "tasks of the last hour took less than 0.5 s, and the coordinator bans after three"
    case .answersTooShort: "the answers of the last hour are so short that the coordinator takes them for forgeries"
    case .durationsTooAlike: "the tasks of the last hour took so equally long that the coordinator suspects a forgery"
    case .answersRepeat: "the last answers are the same, and the coordinator bans after three"
    case .other: "the coordinator has a reason of its own"
    }
  }
}

extension CoordinatorStatus {
  /// The reason why no work is requested, in words, for display; `nil` if work is requested.
  public var heldDescription: String? {
    heldBecause.map { reason in
      AssignmentReason(rawValue: reason)?.description ?? HoldReason(rawValue: reason)?.description ?? reason
    }
  }
}
