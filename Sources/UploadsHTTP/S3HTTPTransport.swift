internal import AsyncHTTPClient
internal import FoundationEssentials
internal import NIOCore
internal import NIOFoundationCompat
internal import NIOHTTP1
internal import OutgoingHTTP
internal import Timing
public import Uploads

/// A transport that carries requests to S3 servers over HTTP/1.1 or HTTPS, by AsyncHTTPClient.
///
/// Every request has timeouts and can be cancelled. The transport logs nothing, so that no credentials reach a log.
///
/// ```swift
/// import Uploads
///
/// let transport = try S3HTTPTransport()
/// let client = S3Client(try S3Endpoint("http://127.0.0.1:8333"), transport: transport)
/// let credentials = S3Credentials(accessKey: "KEY", secretKey: "SECRET")
/// let page = try await client.list(bucket: "recordings", credentials: credentials)
/// for entry in page.entries { print(entry.key, entry.size) }
/// ```
public final class S3HTTPTransport: S3Transport {
  private let outgoing: OutgoingHTTPClient
  private let stallLimit: Duration

  /// The largest response that is kept, in bytes: 8 MiB. A page of a thousand keys of 1 KB each has 2 MiB.
  static let responseLimit = 8 << 20
  /// The timeout of a whole request: a day, which is enough for 5 GiB at 0.5 Mbit/s.
  static let totalLimit = Duration.seconds(86_400)

  /// The timeout of a connection whose server acknowledges nothing: a minute.
  static let acknowledgementLimit = Duration.seconds(60)

  /// Creates a transport without connecting.
  /// - Parameters:
  ///   - certificates: The path of a PEM file with certificates to trust besides the system's; `nil` for none.
  ///   - stallLimit: The timeout between two steps of a request. On a slow line the last bytes of a body are on their way
  ///     for a minute after the last step; a connection whose server acknowledges nothing ends after a minute.
  /// - Throws: `UploadsError` with code `.invalidArgument` if the file contains no certificates.
  public init(certificates: String? = nil, stallLimit: Duration = .seconds(120)) throws(UploadsError) {
    self.stallLimit = stallLimit
    var connections = OutgoingHTTPClient.Connections()
    connections.keptPerHost = 64
    connections.acknowledgementLimit = min(stallLimit, Self.acknowledgementLimit)
    do throws(OutgoingHTTPClient.UnreadableCertificates) {
      outgoing = try OutgoingHTTPClient(
        connectTimeout: .seconds(10), certificates: certificates, connections: connections)
    } catch {
      throw UploadsError(.invalidArgument, "read the certificates in \(error.path): \(error)")
    }
  }

  /// Sends a request and returns the complete response, without following redirects or repeating the request.
  /// - Throws: `UploadsError`, as `S3Transport` requires; `CancellationError`.
  public func send(_ request: S3Request, _ progress: S3Progress) async throws -> S3Response {
    let limits = ProgressLimits(first: stallLimit, pause: stallLimit, total: Self.totalLimit)
    let place = "\(request.scheme)://\(request.authority)"
    do {
      return try await TimeSource.continuous.withLimits(
        limits,
        orThrow: { [stallLimit] in UploadsError(.interrupted, "no progress with \(place) for \(stallLimit)") }
      ) { [outgoing] step in
        try await Self.send(request, progress, through: outgoing, step)
      }
    } catch let error as CancellationError {
      throw error
    } catch {
      try Task.checkCancellation()
      throw await Self.failure(error, place, request)
    }
  }

  private static func send(
    _ request: S3Request, _ progress: S3Progress, through client: OutgoingHTTPClient,
    _ step: @escaping @Sendable () -> Void
  ) async throws -> S3Response {
    var outgoing = HTTPClientRequest(url: request.url)
    outgoing.method = HTTPMethod(rawValue: request.method)
    outgoing.headers = HTTPHeaders(request.headers.map { ($0.name, $0.value) })
    switch request.body {
    case .none:
      // Some servers require a length, even of an empty body.
      if ["PUT", "POST"].contains(request.method) { outgoing.body = .bytes(ByteBuffer()) }
    case .bytes(let data): outgoing.body = .bytes(ByteBuffer(data: data))
    case .file(let slice):
      let body = FileBody(slice: slice, handOver: client.handOver) { bytes in
        step()
        progress.sent(bytes)
      }
      outgoing.body = .stream(body, length: .known(slice.length))
    }
    let response = try await client.execute(outgoing, timeout: .seconds(totalLimit.components.seconds))
    step()
    let status = Int(response.status.code)
    let headers = Dictionary(response.headers.map { ($0.name.lowercased(), $0.value) }) { "\($0),\($1)" }
    var kept = ByteBuffer()
    var count: Int64 = 0
    for try await bytes in response.body {
      step()
      if let received = progress.received, (200..<300).contains(status) {
        count += Int64(bytes.readableBytes)
        if let limit = progress.receivedLimit, count > limit {
          throw UploadsError(.unexpectedResponse, "the response has more than \(limit) bytes", status: status)
        }
        bytes.withUnsafeReadableBytes(received)
      } else {
        guard kept.readableBytes + bytes.readableBytes <= responseLimit else {
          throw UploadsError(
            .unexpectedResponse, "the response has more than \(responseLimit) bytes", status: status)
        }
        kept.writeImmutableBuffer(bytes)
      }
    }
    return S3Response(status: status, headers: headers, body: Data(buffer: kept))
  }

  private static func failure(_ error: any Error, _ place: String, _ request: S3Request) async -> UploadsError {
    if let error = error as? UploadsError { return error }
    switch ConnectionFailure(error) {
    case .unknownHost: return UploadsError(.unreachable, "connect to \(place): unknown host name")
    case .noServer(let errno):
      return UploadsError(.unreachable, "connect to \(place): no server responds", errno: errno)
    case .untrusted(.notTrusted) where await isOutOfDate(request):
      return UploadsError(tls: .outOfDate, place)
    case .untrusted(let reason): return UploadsError(tls: reason, place)
    case .noProxy(let reason): return UploadsError(.unreachable, "connect to \(place): \(reason)")
    case .timedOut: return UploadsError(.unreachable, "connect to \(place): timed out")
    case .notHTTP:
      return UploadsError(
        .unexpectedResponse, "\(place) does not respond in HTTP",
        hint: request.scheme == "http" ? "if it speaks TLS, use a URL that begins with https://" : nil)
    // Some servers close the connection instead of sending an alert.
    case .interrupted where await isTLSServer(request, error):
      return UploadsError(
        .unexpectedResponse, "\(place) speaks TLS, and not plain HTTP", hint: "use a URL that begins with https://")
    case .tooLong:
      return UploadsError(.interrupted, "the connection to \(place) was interrupted: a response is too long")
    case .interrupted(let reason):
      return UploadsError(.interrupted, "the connection to \(place) was interrupted: \(reason)")
    }
  }

  /// Returns whether the certificate of a request's server is out of date; `false` if that cannot be found out.
  private static func isOutOfDate(_ request: S3Request) async -> Bool {
    await certificate(request)?.isOutOfDate(at: WallClock.unixMilliseconds() / 1000) == true
  }

  /// Returns the certificate of a request's server; `nil` if it presents none.
  private static func certificate(_ request: S3Request) async -> ServerCertificate? {
    guard let url = URL(string: request.url), let host = url.host() else { return nil }
    return await ServerCertificate.presented(by: host, port: url.port ?? (request.scheme == "https" ? 443 : 80))
  }

  /// Returns whether a server that closed the connection in place of a response expects TLS, which the request's URL does
  /// not promise.
  private static func isTLSServer(_ request: S3Request, _ error: any Error) async -> Bool {
    guard request.scheme == "http", (error as? HTTPClientError) == .remoteConnectionClosed else { return false }
    return await certificate(request) != nil
  }
}

extension UploadsError {
  /// Creates the error for a failure of TLS.
  fileprivate init(tls failure: TLSFailure, _ place: String) {
    let connecting = "connect to \(place): "
    switch failure {
    case .outOfDate:
      self.init(
        .certificateExpired, connecting + "the certificate of the server has expired, or is not valid yet",
        hint: "renew it on the server; if it is new, set the clock of this host")
    case .notTrusted:
      self.init(
        .untrusted, connecting + "this host does not trust the authority that signed the certificate of the server",
        hint: "trust the certificate of the authority if it is your own")
    case .otherName:
      self.init(
        .wrongHostName, connecting + "the certificate of the server is one for another host name",
        hint: "use a name that the certificate is for, or give the server a certificate for this one")
    case .notTLS:
      self.init(
        .notTLS, connecting + "the server does not speak TLS at this port", hint: "use a URL that begins with http://")
    case .notAgreed:
      self.init(
        .noTLS, connecting + "the server and this host agree on no version of TLS",
        hint: "look at the log of the server; it must support TLS 1.2 or later")
    }
  }
}
