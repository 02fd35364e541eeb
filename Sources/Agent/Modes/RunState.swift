/// The state of the service of the mode, as it is reported.
public enum RunState: Sendable, Hashable, CustomStringConvertible {
  /// Nothing runs, as the mode demands.
  case stopped
  /// Nothing runs, for this reason, although the mode is not Off.
  case blocked(ModeMachine.Block)
  /// The service of the mode has started, and does not work yet.
  case starting
  /// The service of the mode works.
  case running
  /// A service is about to stop; then the service of the mode starts.
  case stopping
  /// The service of the mode has failed, and is tried again after a delay.
  case failed(because: String)

  /// The state in words, for display.
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
  /// The state of the service of the mode.
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
