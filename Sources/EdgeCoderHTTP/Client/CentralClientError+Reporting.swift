public import ErrorReporting

extension CentralClientError: ReportableError {
  /// The reaction that the code calls for.
  public var category: ErrorCategory {
    switch code {
    case .timedOut: .temporary
    case .refused: .invalidInput
    default: .unavailable
    }
  }
}
