/// What runs, as it is reported: never more than there is.
public enum RunState: Sendable, Hashable, CustomStringConvertible {
  /// Nothing runs, and nothing is to.
  case stopped
  /// Nothing runs, though the mode is not Off.
  case blocked(ModeMachine.Block)
  /// The service of the mode is about to work.
  case starting
  /// The service of the mode works.
  case running
  /// Something that ran is about to end; then comes what the mode wants.
  case stopping
  /// The service of the mode has failed and will be tried again.
  case failed(because: String)

  /// The state as a status message, for a person.
  public var description: String {
    switch self {
    case .stopped: "stopped"
    case .blocked(let block): "blocked: \(block)"
    case .starting: "starting"
    case .running: "running"
    case .stopping: "stopping"
    case .failed(let reason): "failed: \(reason)"
    }
  }
}

extension ModeMachine {
  /// What runs.
  public var runState: RunState {
    if phone == .stopping || heartbeat == .stopping { return .stopping }
    guard let wanted else { return block.map(RunState.blocked) ?? .stopped }
    return switch self[wanted] {
    case .running: .running
    case .failed(let reason): .failed(because: reason)
    case .idle, .starting, .stopping: .starting
    }
  }
}
