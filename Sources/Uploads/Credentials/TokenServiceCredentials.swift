internal import FoundationEssentials
public import Timing

/// A provider of temporary credentials from an HTTP service that identifies the caller by a bearer token.
///
/// The response to `POST` is a JSON object with `access_key_id`, `secret_access_key`, `session_token` and `expiration`
/// (ISO 8601) or `duration_seconds`; optionally with the `bucket`, `prefix` and `region` that the credentials are valid for.
///
/// ```swift
/// func provider(over transport: any S3Transport) throws -> any CredentialsProvider {
///   try TokenServiceCredentials(url: "https://example.org/s3-upload-token/v1/", transport: transport) { "TOKEN" }
/// }
/// ```
public struct TokenServiceCredentials: CredentialsProvider {
  private let request: S3Request
  private let transport: any S3Transport
  private let token: @Sendable () throws -> String
  private let unixMs: @Sendable () -> Int64

  /// The name of the source for display: the service's URL.
  public let name: String

  /// Creates a provider that calls a service.
  /// - Parameters:
  ///   - url: The URL of the service, such as `https://example.org/action/auth/s3-upload-token/v1/`.
  ///   - transport: The transport for the requests.
  ///   - unixMs: The wall clock, in Unix milliseconds.
  ///   - token: A closure that returns the caller's token; called for each request, as the token may change.
  /// - Throws: ``UploadsError`` with code `.invalidArgument`.
  public init(
    url: String, transport: any S3Transport, unixMs: @escaping @Sendable () -> Int64 = WallClock.unixMilliseconds,
    token: @escaping @Sendable () throws -> String
  ) throws(UploadsError) {
    guard let parsed = URLComponents(string: url), let scheme = parsed.scheme?.lowercased(),
      ["http", "https"].contains(scheme), let host = parsed.encodedHost, !host.isEmpty, parsed.user == nil,
      parsed.fragment == nil, parsed.query == nil
    else {
      throw UploadsError(
        .invalidArgument, "the service is \(url.namedURL); allowed: an http or https URL without a query")
    }
    guard parsed.hasPossiblePort else {
      throw UploadsError(.invalidArgument, "the service is \(url.namedURL); allowed: a port from 1 to 65535")
    }
    let path = parsed.percentEncodedPath
    request = S3Request(
      "POST", scheme: scheme, authority: host + (parsed.port.map { ":\($0)" } ?? ""), path: path.isEmpty ? "/" : path)
    name = url
    self.transport = transport
    self.unixMs = unixMs
    self.token = token
  }

  /// Requests credentials from the service.
  /// - Throws: ``UploadsError`` with code `.noCredentials` if the service refuses or its response is malformed; the errors
  ///   of the transport and of `token`; `CancellationError`.
  public func credentials() async throws -> S3Credentials {
    var request = request
    request.headers = [
      ("Authorization", "Bearer \(try token())"), ("Content-Type", "application/json"), ("Accept", "application/json"),
    ]
    request.body = .bytes(Data("{}".utf8))
    let response = try await transport.send(request, S3Progress())
    guard (200..<300).contains(response.status) else {
      throw UploadsError(
        .noCredentials, "\(name): status \(response.status)", status: response.status,
        hint: [401, 403].contains(response.status) ? "check the token and its expiration" : nil)
    }
    do {
      let reply = try JSONDecoder().decode(Reply.self, from: response.body)
      let expiration = reply.expiration.flatMap(S3Client.milliseconds)
      let lasts = reply.duration_seconds.map { unixMs() + Int64(min(max($0, 0), 604_800) * 1000) }
      return S3Credentials(
        accessKey: reply.access_key_id, secretKey: reply.secret_access_key, sessionToken: reply.session_token,
        expiresAtMs: expiration ?? lasts, scope: try reply.scope)
    } catch let error as UploadsError {
      throw UploadsError(
        .noCredentials, "\(name) returned an invalid scope: \(error.message)", status: response.status)
    } catch {
      // The response may contain secrets, and so may the decoder's error.
      throw UploadsError(.noCredentials, "the response of \(name) is malformed", status: response.status)
    }
  }

  /// The response, with the names that the service uses.
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
        func named(_ text: String?) -> String? { text.flatMap { $0.isEmpty ? nil : $0 } }
        if let bucket = named(bucket) { try S3Endpoint.check(bucket: bucket) }
        if let prefix = named(prefix) { try S3Endpoint.check(key: prefix) }
        if let region = named(region) { try S3Endpoint.check(region: region) }
        guard named(bucket) != nil || named(prefix) != nil || named(region) != nil else { return nil }
        return S3Scope(bucket: named(bucket), prefix: prefix ?? "", region: named(region))
      }
    }
  }
}
