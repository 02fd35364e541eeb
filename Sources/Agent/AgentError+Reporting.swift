public import ErrorReporting

extension AgentError: ReportableError {
  /// The reaction that the code calls for.
  public var category: ErrorCategory {
    switch code {
    case .invalidArgument: .invalidInput
    case .notPermitted: .notPermitted
    case .notNow: .temporary
    case .serviceHangs, .inputEnded, .busLost: .failed
    default: .unavailable
    }
  }
}
