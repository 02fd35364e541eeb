internal import FoundationEssentials

extension UploadsError {
  /// Creates the error for a response without success.
  init(_ response: S3Response, to request: S3Request) {
    let body = XMLElement(response.body).flatMap { $0.name == "Error" ? $0 : nil }
    self.init(status: response.status, error: body, hasBody: request.method != "HEAD", to: request)
  }

  /// Creates the error for an error document; a server may have sent status 200 before it failed.
  init(status: Int, error: XMLElement?, hasBody: Bool, to request: S3Request) {
    let name = error?["Code"]
    let code = Self.code(status, name, isUnderstood: error != nil || !hasBody, hasBody)
    let said = [name, error?["Message"]].compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: ": ")
    let what = "\(request.method) \(request.scheme)://\(request.authority)\(request.path)"
    self.init(
      code, "\(what): status \(status)" + (said.isEmpty ? "" : " (\(said.prefix(500)))"), status: status,
      serverCode: name, hint: Self.hint(code))
  }

  private static func code(_ status: Int, _ name: String?, isUnderstood: Bool, _ hasBody: Bool) -> Code {
    if let name, let known = known[name] { return known }
    switch status {
    case 501: return isUnderstood ? .refused : .busy
    case 408, 429, 500...: return .busy
    // A hotel's portal responds in the server's place: only an S3 error may fail an item for good.
    case 400..<500 where !isUnderstood: return .unexpectedResponse
    // AWS responds to HEAD with 400 when a session has expired, without a body to name the cause.
    case 400 where !hasBody: return .forbidden
    case 401: return .badCredentials
    case 403: return .forbidden
    case 404: return .notFound
    case 412: return .alreadyExists
    case 400..<500: return .refused
    case 200..<300 where name != nil: return .busy
    default: return .unexpectedResponse
    }
  }

  /// The codes of the Amazon S3 API Reference, “Error responses”, and their synonyms on other servers.
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
      (.quotaExceeded, ["QuotaExceeded", "QuotaExceededException", "XMinioStorageFull", "TooManyBytes"]),
      (.notFound, ["NoSuchBucket", "NoSuchKey", "NoSuchUpload"]),
    ]
    return Dictionary(uniqueKeysWithValues: codes.flatMap { code, names in names.map { ($0, code) } })
  }()

  private static func hint(_ code: Code) -> String? {
    switch code {
    case .badCredentials: "check the access key, the secret key and the session token, and their expiration"
    case .forbidden: "check the permissions of the account"
    case .quotaExceeded: "remove objects, or raise the quota of the account or bucket on the server"
    case .clockSkew: "set the clock of this host"
    default: nil
    }
  }
}
