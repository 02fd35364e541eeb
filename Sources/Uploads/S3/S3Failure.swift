internal import FoundationEssentials

extension UploadsError {
  /// What an answer that is no success means.
  init(_ answer: S3Answer, to request: S3Request) {
    let body = XMLElement(answer.body).flatMap { $0.name == "Error" ? $0 : nil }
    self.init(status: answer.status, error: body, hasBody: request.method != "HEAD", to: request)
  }

  /// What an error in a body means; a server may have begun its answer with 200 before it knew.
  init(status: Int, error: XMLElement?, hasBody: Bool, to request: S3Request) {
    let name = error?["Code"]
    let code = Self.code(status, name, isUnderstood: error != nil || !hasBody, hasBody)
    let said = [name, error?["Message"]].compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: ": ")
    let what = "\(request.method) \(request.scheme)://\(request.authority)\(request.path)"
    self.init(
      code, "\(what) was answered with \(status)" + (said.isEmpty ? "" : " (\(said.prefix(500)))"), status: status,
      serverCode: name, hint: Self.hint(code))
  }

  private static func code(_ status: Int, _ name: String?, isUnderstood: Bool, _ hasBody: Bool) -> Code {
    if let name, let known = known[name] { return known }
    switch status {
    case 501: return isUnderstood ? .refused : .busy
    case 408, 429, 500...: return .busy
    // A hotel's portal answers for everybody: only what speaks S3 may decide what will never succeed, or as whom.
    case 400..<500 where !isUnderstood: return .unexpectedReply
    // AWS answers a HEAD with 400 when a session has expired, and has no body to say so.
    case 400 where !hasBody: return .forbidden
    case 401: return .badCredentials
    case 403: return .forbidden
    case 404: return .notFound
    case 412: return .alreadyExists
    case 400..<500: return .refused
    case 200..<300 where name != nil: return .busy
    default: return .unexpectedReply
    }
  }

  /// Amazon S3 API Reference, “Error responses”, and what other servers call the same.
  private static let known: [String: Code] = {
    let codes: [(Code, [String])] = [
      (.clockSkew, ["RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture"]),
      (
        .badCredentials,
        [
          "ExpiredToken", "ExpiredTokenException", "InvalidAccessKeyId", "InvalidClientTokenId", "InvalidToken",
          "NotSignedUp", "SignatureDoesNotMatch", "TokenRefreshRequired",
        ]
      ),
      (.forbidden, ["AccessDenied", "AccountProblem", "AllAccessDisabled", "InvalidObjectState"]),
      (
        .busy,
        [
          "ConditionalRequestConflict", "InternalError", "OperationAborted", "RequestTimeout", "ServiceUnavailable",
          "SlowDown", "Throttling", "TooManyRequests",
        ]
      ),
      (
        .corrupted,
        [
          "BadDigest", "IncompleteBody", "InvalidDigest", "XAmzContentChecksumMismatch", "XAmzContentSHA256Mismatch",
        ]
      ),
      (.alreadyExists, ["PreconditionFailed"]),
      (.notFound, ["NoSuchBucket", "NoSuchKey", "NoSuchUpload"]),
    ]
    return Dictionary(uniqueKeysWithValues: codes.flatMap { code, names in names.map { ($0, code) } })
  }()

  private static func hint(_ code: Code) -> String? {
    switch code {
    case .badCredentials: "are the access key, the secret and the token right, and not expired?"
    case .forbidden: "may this account write there?"
    case .clockSkew: "set this machine's clock"
    default: nil
    }
  }
}
