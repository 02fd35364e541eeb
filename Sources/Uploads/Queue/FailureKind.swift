internal import ErrorReporting

/// The consequence of a failed attempt for the retries that follow.
public enum FailureKind: String, Sendable, Hashable, CaseIterable {
  /// The server is unreachable: all items wait, and one attempt at a time probes it.
  case network
  /// The server, the network or the local disk failed this once: the item is retried after a delay.
  case temporary
  /// The server refuses the credentials: all items of the account wait for newer ones.
  case credentials
  /// The credentials or the quota of the account do not permit the request: the item waits for newer ones, or 15 min.
  case permission
  /// A retry cannot succeed: the item waits for a user.
  case final

  /// Classifies an error; any error but an ``UploadsError`` is temporary.
  init(_ error: any Error) {
    guard let error = error as? UploadsError else {
      self = .temporary
      return
    }
    switch error.code {
    case .unreachable, .untrusted, .certificateExpired, .wrongHostName, .notTLS, .noTLS: self = .network
    case .noCredentials, .badCredentials: self = .credentials
    case .forbidden, .quotaExceeded: self = .permission
    case .invalidArgument, .refused, .notFound, .alreadyExists, .fileMissing, .fileChanged, .noSuchItem: self = .final
    default: self = .temporary
    }
  }
}

/// The failure of one attempt: its consequence, and its reason for display.
struct UploadFailure: Sendable, Hashable {
  let kind: FailureKind
  let reason: String
}

extension UploadFailure {
  init(_ error: any Error) {
    self.init(kind: FailureKind(error), reason: error.safeText)
  }
}
