public import ErrorReporting

extension BackgroundTasksError: ReportableError {
  /// The reaction that the code calls for.
  public var category: ErrorCategory {
    switch code {
    case .invalidArgument, .notRegistered: .invalidInput
    case .busy: .temporary
    default: .failed
    }
  }
}
