internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import IncomingHTTP
public import Logging
public import MessageSending
internal import NIOCore
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
    package func checkCertificate() throws { _ = try tls() }

    fileprivate func tls() throws -> ServerTLS? {
      do {
        return try certificate.map { try ServerTLS($0) }
      } catch let error as ServerTLS.Unreadable {
        throw MessageSendingError(.invalidArgument, error.words)
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
    router.add(
      middleware: RefusalForm { [state] status, words, headers in
        state.withLock { $0.counts.refused += 1 }
        return Self.refusal(status, words, headers)
      })
    router.post("/user/messages") { [self] request, _ in try await answer(request) }
    let server = IncomingHTTPServer(
      address: options.host, port: options.port, connections: options.connectionLimit, logger: logger,
      logsClients: false, onListening: onListening)
    try await server.run(server.application(router, over: try IncomingHTTPServer.http(over: options.tls())))
  }

  private func answer(_ request: Request) async throws -> Response {
    let isPermitted = state.withLock { $0.bucket.take(at: TimeSource.continuous.now) }
    guard isPermitted else {
      state.withLock { $0.counts.limited += 1 }
      return Self.refusal(.tooManyRequests, "too many messages; retry later", [.retryAfter: "60"])
    }
    let limits = IncomingBody(limit: MessageBody.decodingLimit, timeout: .seconds(30))
    let body = try await limits.bytes(of: request)
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
      return Self.refusal(.serviceUnavailable, "the message was not stored", [.retryAfter: "600"])
    }
    state.withLock { $0.counts.stored += 1 }
    return Response(status: .ok)
  }

  private static func refusal(
    _ status: HTTPResponse.Status, _ words: String, _ headers: HTTPFields
  ) -> Response {
    let text = words.map { $0 == "\"" || $0 == "\\" ? "'" : $0 }
    return .json(status, ByteBuffer(string: "{\"error\":\"\(String(text))\"}"), headers)
  }
}
