public import ErrorReporting

extension SystemCallError: ReportableError {
  /// The call and the kernel's text for the error number.
  public var message: String { description }
  /// The reaction that the code calls for.
  public var category: ErrorCategory {
    .unavailable
  }
}
