internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import HummingbirdTLS
public import Logging
public import MessageSending
internal import NIOCore
internal import NIOSSL
internal import OutgoingHTTP
public import ServiceLifecycle
internal import Streams
internal import Timing

/// A server that accepts sealed messages at `POST /user/messages` and stores them.
///
/// A message is on disk before the server responds with status 200. Anything else than one message is refused with 400,
/// a larger body with 413, requests above the rate with 429, and a message that cannot be stored with 503. The server
/// logs neither addresses nor messages.
///
/// ```swift
/// import Logging
/// import MessageSending
///
/// let segments = try MessageSegments(folder: "/var/lib/edgeblue/collected")
/// let collector = MessageCollector(segments, options: .init(port: 7676), logger: Logger(label: "collector"))
/// try await collector.run()
/// ```
public final class MessageCollector: Service {
  /// The settings of a collector.
  public struct Options: Sendable {
    /// The address to listen on; 127.0.0.1 by default.
    public var host: String
    /// The port to listen on; 0 for a free one.
    public var port: Int
    /// The paths of PEM files with the certificate chain and its private key; `nil` for plain HTTP.
    public var certificate: (chain: String, key: String)?
    /// The number of messages that are accepted each minute, 1 or more: 600 by default.
    public var messagesPerMinute = 600
    /// The largest number of connections at the same time: 256 by default.
    public var connectionLimit = 256

    /// Creates settings; by default those of a server for this host, without TLS.
    public init(host: String = "127.0.0.1", port: Int = 7676, certificate: (chain: String, key: String)? = nil) {
      self.host = host
      self.port = port
      self.certificate = certificate
    }

    /// Reads the certificate and its key, if there are any.
    /// - Throws: `MessageSendingError` with code `.invalidArgument` for what is unreadable.
    package func checkCertificate() throws { _ = try secured(.http1()) }

    func secured(_ http: HTTPServerBuilder) throws -> HTTPServerBuilder {
      guard let certificate else { return http }
      do {
        let chain = try NIOSSLCertificate.fromPEMFile(certificate.chain)
        let key = try NIOSSLPrivateKey(file: certificate.key, format: .pem)
        return try .tls(http, tlsConfiguration: TLSRules.server(chain, key))
      } catch {
        throw MessageSendingError(
          .invalidArgument, "\(certificate.chain) and \(certificate.key) are no readable certificate and key")
      }
    }
  }

  private struct State {
    var counts = CollectorCounts()
    var bucket: TokenBucket
  }

  private let segments: MessageSegments
  private let options: Options
  private let logger: Logger
  private let onListening: @Sendable (Int) async -> Void
  private let state: Lock<State>

  /// The timeout of a connection without a request.
  private static let idleLimit = TimeAmount.seconds(30)

  /// Creates a collector, which listens while ``run()`` runs.
  /// - Parameters:
  ///   - segments: The folder of the messages.
  ///   - options: The address, the certificate and the limits.
  ///   - logger: The logger for failures of the disk.
  ///   - onListening: A closure that is called once with the port, when connections are accepted.
  public init(
    _ segments: MessageSegments, options: Options = Options(), logger: Logger,
    onListening: @escaping @Sendable (Int) async -> Void = { _ in }
  ) {
    var logger = logger
    // Below this level, the HTTP server logs its clients.
    logger.logLevel = max(logger.logLevel, .notice)
    self.segments = segments
    self.options = options
    self.logger = logger
    self.onListening = onListening
    state = Lock(State(bucket: TokenBucket(perMinute: options.messagesPerMinute)))
  }

  /// The numbers of requests so far.
  public var counts: CollectorCounts { state.withLock { $0.counts } }

  /// Listens until the service group shuts down gracefully, or the task is cancelled.
  /// - Throws: `MessageSendingError` with code `.invalidArgument` for an unreadable certificate; an error of the socket
  ///   layer when the port is in use.
  public func run() async throws {
    let router = Router(context: BasicRequestContext.self, options: .autoGenerateHeadEndpoints)
    router.add(middleware: Answers(count: { [state] in state.withLock { $0.counts.refused += 1 } }))
    router.post("/user/messages") { [self] request, _ in try await answer(request) }
    let http = HTTPServerBuilder.http1(configuration: .init(idleTimeout: Self.idleLimit))
    let application = Application(
      router: router, server: try options.secured(http),
      configuration: .init(
        address: .hostname(options.host, port: options.port), serverName: "edgeblue",
        availableConnectionsDelegate: MaximumAvailableConnections(options.connectionLimit, logger: logger)),
      onServerRunning: { [onListening] channel in
        if let port = channel.localAddress?.port { await onListening(port) }
      },
      logger: logger)
    // A task of its own, which is never cancelled: SwiftNIO traps when a server is cancelled while it accepts a
    // connection. A cancellation becomes a graceful shutdown, which the limits of a request bound.
    let group = ServiceGroup(services: [application], logger: logger)
    let server = Task { try await group.run() }
    try await withTaskCancellationHandler {
      try await server.value
    } onCancel: {
      Task { await group.triggerGracefulShutdown() }
    }
  }

  private func answer(_ request: Request) async throws -> Response {
    let isPermitted = state.withLock { $0.bucket.take(at: TimeSource.continuous.now) }
    guard isPermitted else {
      state.withLock { $0.counts.limited += 1 }
      return Answers.response(.tooManyRequests, "too many messages; retry later", [.retryAfter: "60"])
    }
    let body: ByteBuffer
    do {
      body = try await TimeSource.continuous.withLimit(
        .seconds(30), orThrow: HTTPError(.requestTimeout, message: "the body did not arrive within 30 s")
      ) {
        try await request.body.collect(upTo: MessageBody.decodingLimit)
      }
    } catch is NIOTooManyBytesError {
      throw HTTPError(.contentTooLarge, message: "the body has more than \(MessageBody.decodingLimit) bytes")
    }
    let message: SealedMessage
    do throws(MessageSendingError) {
      message = try MessageBody.decode(Array(body.readableBytesView))
    } catch {
      throw HTTPError(.badRequest, message: error.message)
    }
    do throws(MessageSendingError) {
      try segments.append(message)
    } catch {
      state.withLock { $0.counts.failed += 1 }
      logger.error("message not stored", metadata: ["reason": "\(error)"])
      return Answers.response(.serviceUnavailable, "the message was not stored", [.retryAfter: "600"])
    }
    state.withLock { $0.counts.stored += 1 }
    return Response(status: .ok)
  }
}

/// Turns refusals into responses of one form, and counts them.
private struct Answers: RouterMiddleware {
  typealias Context = BasicRequestContext

  let count: @Sendable () -> Void

  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    do {
      return try await next(request, context)
    } catch let error as HTTPError {
      count()
      let words = error.status == .notFound ? "there is nothing here" : error.body ?? error.status.reasonPhrase
      return Self.response(error.status, words, error.headers)
    }
  }

  static func response(_ status: HTTPResponse.Status, _ words: String, _ headers: HTTPFields = [:]) -> Response {
    var headers = headers
    headers[.contentType] = "application/json; charset=utf-8"
    let text = words.map { $0 == "\"" || $0 == "\\" ? "'" : $0 }
    return Response(
      status: status, headers: headers,
      body: ResponseBody(byteBuffer: ByteBuffer(string: "{\"error\":\"\(String(text))\"}")))
  }
}
