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

  /// Creates a transport without connecting.
  /// - Parameters:
  ///   - certificates: The path of a PEM file with certificates to trust besides the system's; `nil` for none.
  ///   - stallLimit: The timeout between two steps of a request. Servers close a connection after 20 s or more without
  ///     a byte.
  /// - Throws: `UploadsError` with code `.invalidArgument` if the file contains no certificates.
  public init(certificates: String? = nil, stallLimit: Duration = .seconds(60)) throws(UploadsError) {
    self.stallLimit = stallLimit
    var connections = OutgoingHTTPClient.Connections()
    connections.keptPerHost = 64
    connections.acknowledgementLimit = stallLimit
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
      throw Self.failure(error, place)
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
      let body = FileBody(slice: slice) { bytes in
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

  private static func failure(_ error: any Error, _ place: String) -> UploadsError {
    if let error = error as? UploadsError { return error }
    switch ConnectionFailure(error) {
    case .unknownHost: return UploadsError(.unreachable, "connect to \(place): unknown host name")
    case .noServer(let errno):
      return UploadsError(.unreachable, "connect to \(place): no server responds", errno: errno)
    case .untrusted(let reason): return tlsFailure(reason, place)
    case .noProxy(let reason): return UploadsError(.unreachable, "connect to \(place): \(reason)")
    case .timedOut: return UploadsError(.unreachable, "connect to \(place): timed out")
    case .notHTTP: return UploadsError(.unexpectedResponse, "\(place) does not respond in HTTP")
    case .tooLong:
      return UploadsError(.interrupted, "the connection to \(place) was interrupted: a response is too long")
    // Names of a library's errors mean nothing to a user.
    case .interrupted: return UploadsError(.interrupted, "the connection to \(place) was interrupted")
    }
  }

  /// Returns the error for a failure of TLS, whose kind is in the library's text alone.
  private static func tlsFailure(_ text: String, _ place: String) -> UploadsError {
    let failures: [(word: String, said: String, advice: String)] = [
      (
        "failedToValidateHostname", "the certificate is one for another host name",
        "use the name in the certificate, or give the server one for this name"
      ),
      (
        "CERTIFICATE_VERIFY_FAILED", "the certificate is not trusted, or has expired",
        "renew it if it has expired; trust an authority of your own with --ca or AWS_CA_BUNDLE"
      ),
      ("WRONG_VERSION_NUMBER", "the server does not speak TLS", "use a URL that begins with http://"),
      ("HTTP_REQUEST", "the server does not speak TLS", "use a URL that begins with http://"),
    ]
    guard let failure = failures.first(where: { text.contains($0.word) }) else {
      return UploadsError(.untrusted, "connect to \(place): TLS cannot be agreed on")
    }
    return UploadsError(.untrusted, "connect to \(place): \(failure.said)", hint: failure.advice)
  }
}
