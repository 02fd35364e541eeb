public import ErrorReporting

extension PowerError: ReportableError {
  /// The reaction that the code calls for.
  public var category: ErrorCategory {
    .invalidInput
  }
}
