public import ErrorReporting

extension UploadsError: ReportableError {
  /// The reaction that the code calls for.
  public var category: ErrorCategory {
    switch code {
    case .invalidArgument, .fileMissing, .fileChanged, .noSuchItem, .alreadyExists: .invalidInput
    case .badCredentials, .forbidden: .notPermitted
    case .busy, .interrupted, .invalidState: .temporary
    case .refused, .corrupted: .failed
    default: .unavailable
    }
  }
}
