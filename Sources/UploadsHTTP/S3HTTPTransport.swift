internal import AsyncHTTPClient
internal import FoundationEssentials
internal import NIOCore
internal import NIOFoundationCompat
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import Timing
public import Uploads

/// Carries requests to a server of S3 over HTTP or HTTPS: bounded, cancellable, silent.
public final class S3HTTPTransport: S3Transport {
  private let client: HTTPClient
  private let stallLimit: Duration

  /// The largest answer that is kept, in bytes: 8 MiB. A page of a thousand keys of 1 KB each has two.
  static let answerLimit = 8 << 20
  /// How long a request may take: a day, as 5 GiB do at 0.5 Mbit/s.
  static let totalLimit = Duration.seconds(86_400)

  /// Makes a transport; connects to nothing yet.
  /// - Parameters:
  ///   - certificates: a PEM file with the certificates to trust besides the system's own; `nil` for none.
  ///   - stallLimit: how long a request may stand still. Servers end a connection after 20 s or more without a byte.
  /// - Throws: `UploadsError` with code `.invalidArgument`.
  public init(certificates: String? = nil, stallLimit: Duration = .seconds(60)) throws(UploadsError) {
    self.stallLimit = stallLimit
    var configuration = HTTPClient.Configuration()
    configuration.timeout = .init(connect: .seconds(10))
    // A signature is for one host; whoever is asked elsewhere signs again.
    configuration.redirectConfiguration = .disallow
    configuration.httpVersion = .http1Only
    // The queue knows when to try again.
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
    configuration.connectionPool.idleTimeout = .seconds(4)
    if let certificates {
      do {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(certificates))]
        configuration.tlsConfiguration = tls
      } catch {
        throw UploadsError(.invalidArgument, "\(certificates) does not hold certificates that can be read: \(error)")
      }
    }
    client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }

  deinit {
    // The client outlives this object until its connections are closed; there is nobody left to tell of an error.
    client.shutdown { _ in }
  }

  /// Sends a request; see `S3Transport`.
  public func send(_ request: S3Request, _ progress: S3Progress) async throws -> S3Answer {
    let limits = ProgressLimits(first: stallLimit, pause: stallLimit, total: Self.totalLimit)
    let place = "\(request.scheme)://\(request.authority)"
    do {
      return try await TimeSource.continuous.withLimits(
        limits,
        orThrow: { [stallLimit] in UploadsError(.interrupted, "\(place) has stood still for \(stallLimit)") }
      ) { [client] step in
        try await Self.send(request, progress, through: client, step)
      }
    } catch let error as CancellationError {
      throw error
    } catch {
      try Task.checkCancellation()
      throw Self.failure(error, place)
    }
  }

  private static func send(
    _ request: S3Request, _ progress: S3Progress, through client: HTTPClient, _ step: @escaping @Sendable () -> Void
  ) async throws -> S3Answer {
    var outgoing = HTTPClientRequest(url: request.url)
    outgoing.method = HTTPMethod(rawValue: request.method)
    outgoing.headers = HTTPHeaders(request.headers.map { ($0.name, $0.value) })
    switch request.body {
    case .none:
      // Some servers want a length, even of nothing.
      if ["PUT", "POST"].contains(request.method) { outgoing.body = .bytes(ByteBuffer()) }
    case .bytes(let data): outgoing.body = .bytes(ByteBuffer(data: data))
    case .file(let slice):
      let body = FileBody(slice: slice) { bytes in
        step()
        progress.sent(bytes)
      }
      outgoing.body = .stream(body, length: .known(slice.length))
    }
    let response = try await client.execute(outgoing, deadline: .now() + .seconds(totalLimit.components.seconds))
    step()
    let status = Int(response.status.code)
    let headers = Dictionary(response.headers.map { ($0.name.lowercased(), $0.value) }) { "\($0),\($1)" }
    var kept = ByteBuffer()
    for try await bytes in response.body {
      step()
      if let received = progress.received, (200..<300).contains(status) {
        bytes.withUnsafeReadableBytes(received)
      } else {
        guard kept.readableBytes + bytes.readableBytes <= answerLimit else {
          throw UploadsError(.unexpectedReply, "the answer has more than \(answerLimit) bytes", status: status)
        }
        kept.writeImmutableBuffer(bytes)
      }
    }
    return S3Answer(status: status, headers: headers, body: Data(buffer: kept))
  }

  private static func failure(_ error: any Error, _ place: String) -> UploadsError {
    switch error {
    case let error as UploadsError: return error
    case let error as NIOConnectionError:
      let reason = error.dnsAError == nil && error.dnsAAAAError == nil ? "nothing answers" : "the name is not known"
      return UploadsError(.unreachable, "\(reason) at \(place)")
    case let error as IOError where [ECONNREFUSED, ENETUNREACH, EHOSTUNREACH].contains(error.errnoCode):
      return UploadsError(.unreachable, "nothing answers at \(place)", errno: error.errnoCode)
    case is NIOSSLError, is BoringSSLError:
      return UploadsError(
        .unreachable, "\(place) cannot be trusted: \(error)", hint: "--ca names a certificate to trust")
    case let error as HTTPClientError where error == .connectTimeout || error == .tlsHandshakeTimeout:
      return UploadsError(.unreachable, "nothing answers at \(place) in time")
    case let error as HTTPParserError where error != .invalidEOFState:
      return UploadsError(.unexpectedReply, "\(place) does not speak HTTP")
    default: return UploadsError(.interrupted, "\(place) has broken off: \(error)")
    }
  }
}
