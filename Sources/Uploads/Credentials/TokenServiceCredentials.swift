internal import FoundationEssentials
public import Timing

/// Temporary credentials from a service over HTTP, which knows the caller by a token.
///
/// It is asked with `POST` and answers with a JSON object: `access_key_id`, `secret_access_key`, `session_token` and
/// `expiration` (ISO 8601) or `duration_seconds`; and, if it likes, with the `bucket`, the `prefix` and the `region` that
/// they are good for.
public struct TokenServiceCredentials: CredentialsProvider {
  private let request: S3Request
  private let transport: any S3Transport
  private let token: @Sendable () throws -> String
  private let unixMs: @Sendable () -> Int64

  /// What the source is called: the service's address.
  public let name: String

  /// Makes a source of a service.
  /// - Parameters:
  ///   - url: the service, such as `https://example.org/action/auth/s3-upload-token/v1/`.
  ///   - transport: carries the request.
  ///   - unixMs: this machine's clock, in milliseconds since 1970.
  ///   - token: what the caller is known by; asked for each time, as it may change.
  /// - Throws: ``UploadsError`` with code `.invalidArgument`.
  public init(
    url: String, transport: any S3Transport, unixMs: @escaping @Sendable () -> Int64 = WallClock.unixMilliseconds,
    token: @escaping @Sendable () throws -> String
  ) throws(UploadsError) {
    guard let parsed = URLComponents(string: url), let scheme = parsed.scheme?.lowercased(),
      ["http", "https"].contains(scheme), let host = parsed.encodedHost, !host.isEmpty, parsed.user == nil,
      parsed.fragment == nil, parsed.query == nil
    else { throw UploadsError(.invalidArgument, "“\(url)” is not the address of a service") }
    let path = parsed.percentEncodedPath
    request = S3Request(
      "POST", scheme: scheme, authority: host + (parsed.port.map { ":\($0)" } ?? ""), path: path.isEmpty ? "/" : path)
    (name, self.transport, self.unixMs, self.token) = (url, transport, unixMs, token)
  }

  /// Asks the service.
  public func credentials() async throws -> S3Credentials {
    var request = request
    request.headers = [
      ("Authorization", "Bearer \(try token())"), ("Content-Type", "application/json"), ("Accept", "application/json"),
    ]
    request.body = .bytes(Data("{}".utf8))
    let answer = try await transport.send(request, S3Progress())
    guard (200..<300).contains(answer.status) else {
      throw UploadsError(
        .noCredentials, "\(name) has answered with \(answer.status)", status: answer.status,
        hint: [401, 403].contains(answer.status) ? "is the token right, and not expired?" : nil)
    }
    do {
      let reply = try JSONDecoder().decode(Reply.self, from: answer.body)
      let expiration = reply.expiration.flatMap(S3Client.milliseconds)
      let lasts = reply.duration_seconds.map { unixMs() + Int64(min(max($0, 0), 604_800) * 1000) }
      return S3Credentials(
        accessKey: reply.access_key_id, secretKey: reply.secret_access_key, sessionToken: reply.session_token,
        expiresAtMs: expiration ?? lasts, scope: try reply.scope)
    } catch let error as UploadsError {
      throw UploadsError(
        .noCredentials, "\(name) names a place that cannot be: \(error.message)", status: answer.status)
    } catch {
      // What was answered may hold secrets, and so may the decoder's error.
      throw UploadsError(.noCredentials, "the answer of \(name) cannot be understood", status: answer.status)
    }
  }

  /// Named as the service names them.
  private struct Reply: Decodable {
    let access_key_id: String
    let secret_access_key: String
    let session_token: String?
    let expiration: String?
    let duration_seconds: Double?
    let bucket: String?
    let prefix: String?
    let region: String?

    var scope: S3Scope? {
      get throws(UploadsError) {
        func said(_ text: String?) -> String? { text.flatMap { $0.isEmpty ? nil : $0 } }
        if let bucket = said(bucket) { try S3Endpoint.check(bucket: bucket) }
        if let prefix = said(prefix) { try S3Endpoint.check(key: prefix) }
        if let region = said(region) { try S3Endpoint.check(region: region) }
        guard said(bucket) != nil || said(prefix) != nil || said(region) != nil else { return nil }
        return S3Scope(bucket: said(bucket), prefix: prefix ?? "", region: said(region))
      }
    }
  }
}
