public import ErrorReporting

extension InferenceError: ReportableError {
  /// The reaction that the code calls for.
  public var category: ErrorCategory {
    switch code {
    case .noPhoneReady: .unavailable
    case .requestTooLarge: .invalidInput
    default: .temporary
    }
  }
}
