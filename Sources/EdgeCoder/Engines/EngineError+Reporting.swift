public import ErrorReporting

extension EngineError: ReportableError {
  /// The reaction that the code calls for.
  public var category: ErrorCategory {
    .unavailable
  }
}
