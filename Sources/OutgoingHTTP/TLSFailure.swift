internal import NIOSSL

/// The reason why no trusted connection to a server was established over TLS.
public enum TLSFailure: Sendable, Hashable, CaseIterable {
  /// The certificate has expired, or is not valid yet by this host's clock; only an ``ServerCertificate`` tells.
  case outOfDate
  /// The certificate is from an authority that is not trusted, or out of date.
  case notTrusted
  /// The certificate is one for another host name.
  case otherName
  /// The server does not speak TLS.
  case notTLS
  /// The server and the client agree on no version or cipher of TLS, or the server ended the exchange.
  case notAgreed

  /// The reason for display, in words about the server.
  package var words: String {
    switch self {
    case .outOfDate: "its certificate is out of date"
    case .notTrusted: "its certificate is out of date, or from an unknown authority"
    case .otherName: "its certificate is one for another host name"
    case .notTLS: "it does not speak TLS"
    case .notAgreed: "it agrees on no version of TLS"
    }
  }

  /// Classifies an error of the TLS library, which tells most reasons in its text alone.
  init(_ error: any Error) {
    if let error = error as? NIOSSLExtraError, error == .failedToValidateHostname {
      self = .otherName
      return
    }
    let text = "\(error)"
    let words: [(word: String, reason: TLSFailure)] = [
      ("CERTIFICATE_VERIFY_FAILED", .notTrusted), ("WRONG_VERSION_NUMBER", .notTLS), ("HTTP_REQUEST", .notTLS),
    ]
    self = words.first { text.contains($0.word) }?.reason ?? .notAgreed
  }
}
