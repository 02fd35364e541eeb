public import ErrorReporting

extension DBusError: ReportableError {
  /// The reaction that the code calls for.
  public var category: ErrorCategory {
    .unavailable
  }
}
