extension AgentStatus {
  /// The text in the place of a reason that may contain a path, a URL, an identifier or text of a server.
  static let hidden = "only root and the group edgeblue may read the reason"

  /// The part of the status that every user of the host may read: no path, URL, identifier or text of a server.
  package var forEverybody: AgentStatus {
    var status = self
    if case .failed = runState { status.runState = .failed(because: Self.hidden) }
    status.coordinator = coordinator?.forEverybody
    if uploads?.problem != nil { status.uploads?.problem = Self.hidden }
    if loop?.problem != nil { status.loop?.problem = Self.hidden }
    status.coverage?.session = nil
    if coverage?.problem != nil { status.coverage?.problem = Self.hidden }
    if lastFailure != nil { status.lastFailure = Self.hidden }
    if storageProblem != nil { status.storageProblem = Self.hidden }
    return status
  }
}

extension CoordinatorStatus {
  /// The part of the status that every user of the host may read; address and identifier are empty.
  var forEverybody: CoordinatorStatus {
    var status = self
    status.address = ""
    status.agentID = ""
    if problem != nil { status.problem = AgentStatus.hidden }
    status.heldBecause = heldBecause.map(Self.reasonForEverybody)
    status.dropReasons = knownDropReasons
    return status
  }

  /// The numbers of times that work was held; the reasons of the coordinator are counted as `other`.
  var knownDropReasons: [String: Int] {
    Dictionary(dropReasons.map { (Self.reasonForEverybody($0.key), $0.value) }, uniquingKeysWith: +)
  }

  /// Returns a reason of this program; a coordinator may send any other text.
  private static func reasonForEverybody(_ reason: String) -> String {
    let isKnown = HoldReason(rawValue: reason) != nil || AssignmentReason(rawValue: reason) != nil
    return isKnown ? reason : HoldReason.other.rawValue
  }
}

extension AgentEvent {
  /// The event as every user of the host may read it.
  var forEverybody: AgentEvent {
    var event = self
    switch kind {
    case .applied, .chosen, .setting, .downgraded, .networkReturned, .returned, .blocked, .unblocked, .started,
      .stopped, .lifecycle:
      // Their texts are of this program alone.
      break
    case .failed: event.text = "a service has failed; \(AgentStatus.hidden)"
    case .work: event.text = "work on a task has begun or ended"
    case .task: event.text = "the state of a background task has changed"
    case .coordinator: event.text = "the state of this machine at the coordinator has changed"
    case .storage: event.text = "a file could not be read or written, or can be again"
    default: event.text = ""
    }
    return event
  }
}

extension AgentTaskStatus {
  /// The status as every user of the host may read it.
  var forEverybody: AgentTaskStatus {
    var status = self
    if problem != nil { status.problem = AgentStatus.hidden }
    return status
  }
}
