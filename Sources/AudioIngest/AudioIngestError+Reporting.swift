public import ErrorReporting

extension AudioIngestError: ReportableError {
  /// The reaction that the code calls for.
  public var category: ErrorCategory {
    switch code {
    case .invalidArgument, .noSuchSegment: .invalidInput
    case .busy, .timedOut: .temporary
    case .noSpace: .unavailable
    default: .failed
    }
  }
}
