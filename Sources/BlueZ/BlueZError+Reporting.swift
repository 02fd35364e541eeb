public import ErrorReporting

extension BlueZError: ReportableError {
  /// The error of the bus behind this one, if there is one.
  public var cause: (any Error)? { underlying }
  /// The reaction that the code calls for.
  public var category: ErrorCategory {
    if underlying?.code == .connectFailed { return .unavailable }
    return switch code {
    case .notPermitted: .notPermitted
    case .timedOut, .connectFailed, .notConnected, .inProgress, .staleHandle: .temporary
    case .invalidArgument, .advertisementTooLong: .invalidInput
    case .attributeError, .failed: .failed
    default: .unavailable
    }
  }
}
