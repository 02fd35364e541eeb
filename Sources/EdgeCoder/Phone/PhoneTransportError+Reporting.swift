public import ErrorReporting

extension PhoneTransportError: ReportableError {
  /// The reaction that the code calls for.
  public var category: ErrorCategory {
    switch code {
    case .notSubscribed, .down: .temporary
    default: .failed
    }
  }
}
