public import ErrorReporting

extension NetworkPathError: ReportableError {
  /// The reaction that the code calls for.
  public var category: ErrorCategory {
    .unavailable
  }
}
