/// What a failure means for what is tried next.
public enum FailureKind: String, Sendable, Hashable, CaseIterable {
  /// Nobody can reach the server: all items wait, and one of them finds out when it is back.
  case network
  /// The server, the way to it or this machine's disk could not this time: the item waits.
  case temporary
  /// The server does not take the credentials: all items of the account wait for others.
  case credentials
  /// The credentials do not allow it: the item waits for others.
  case permission
  /// It will never succeed without a person.
  case final

  /// Sorts an error.
  init(_ error: any Error) {
    guard let error = error as? UploadsError else {
      self = .temporary
      return
    }
    switch error.code {
    case .unreachable: self = .network
    case .noCredentials, .badCredentials: self = .credentials
    case .forbidden: self = .permission
    case .invalidArgument, .refused, .notFound, .alreadyExists, .fileMissing, .fileChanged, .noSuchItem: self = .final
    default: self = .temporary
    }
  }
}
