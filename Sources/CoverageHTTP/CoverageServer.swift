public import Coverage
internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import IncomingHTTP
public import Logging
internal import NIOCore
internal import NIOFoundationCompat
public import ServiceLifecycle
internal import Streams

/// A control server that listens for one's own clients.
///
/// A request is answered when what it changes is on disk. A body beyond the limit is refused with status 413, one that does
/// not arrive with 408, and all with 503 while the disk takes nothing; the client sends it again later. Addresses and
/// contents are not logged.
public final class CoverageServer: Service {
  /// The settings of a server.
  public struct Options: Sendable {
    /// The address to listen on; 127.0.0.1 by default.
    public var address = "127.0.0.1"
    /// The port to listen on; 0 for a free one.
    public var port: Int
    /// The paths of PEM files with the certificate chain and its private key; `nil` for plain HTTP.
    public var certificate: (chain: String, key: String)?
    /// The largest number of connections at the same time: 256 by default.
    public var connectionLimit = 256

    /// Creates settings for a port.
    public init(port: Int) { self.port = port }

    /// Reads the certificate and its key, if there are any.
    /// - Throws: `CoverageError` with code `.invalidArgument` for what is unreadable.
    public func checkCertificate() throws { _ = try tls() }

    fileprivate func tls() throws -> ServerTLS? {
      do {
        return try certificate.map { try ServerTLS($0) }
      } catch let error as ServerTLS.Unreadable {
        throw CoverageError(.invalidArgument, error.words)
      }
    }
  }

  /// The numbers of requests so far.
  public struct Counts: Sendable, Hashable {
    /// The requests that were answered with success.
    public var answered = 0
    /// The requests that were refused.
    public var refused = 0
    /// The requests that could not be answered because of the disk.
    public var failed = 0

    /// Creates counts of no requests.
    public init() {}
  }

  private let service: CoverageService
  private let options: Options
  private let logger: Logger
  private let onListening: @Sendable (Int) async -> Void
  private let state = Lock(Counts())

  /// Creates a server, which listens while ``run()`` runs.
  /// - Parameters:
  ///   - service: The answers.
  ///   - options: The address, the certificate and the limits.
  ///   - logger: The logger for failures of the disk.
  ///   - onListening: A closure that is called once with the port, when connections are accepted.
  public init(
    _ service: CoverageService, options: Options, logger: Logger,
    onListening: @escaping @Sendable (Int) async -> Void = { _ in }
  ) {
    self.service = service
    self.options = options
    self.logger = logger
    self.onListening = onListening
  }

  /// The numbers of requests so far.
  public var counts: Counts { state.withLock { $0 } }

  /// Listens until the service group shuts down gracefully, or the task is cancelled.
  /// - Throws: `CoverageError` with code `.invalidArgument` for an unreadable certificate; an error of the socket layer when
  ///   the port is in use.
  public func run() async throws {
    let router = Router(context: ServedContext.self)
    router.add(
      middleware: RefusalForm { [state] status, words, headers in
        if status != .serviceUnavailable { state.withLock { $0.refused += 1 } }
        return Self.response(CoverageService.refusal(words, status.code), headers)
      })
    router.post("**") { [self] request, context in try await answer(request, context) }
    let server = IncomingHTTPServer(
      address: options.address, port: options.port, connections: options.connectionLimit, logger: logger,
      logsClients: false, onListening: onListening)
    try await server.run(server.application(router, over: try IncomingHTTPServer.http(over: options.tls())))
  }

  private func answer(_ request: Request, _ context: ServedContext) async throws -> Response {
    let limits = IncomingBody(limit: CoverageService.bodyLimit, timeout: .seconds(30))
    let body = try await limits.bytes(of: request)
    do {
      let answer = try service.answer(to: request.uri.path, Data(buffer: body), from: context.address)
      state.withLock { if answer.status < 300 { $0.answered += 1 } else { $0.refused += 1 } }
      return Self.response(answer)
    } catch let error as CoverageError {
      state.withLock { $0.failed += 1 }
      logger.error("request not answered", metadata: ["reason": "\(error)"])
      throw HTTPError(.serviceUnavailable, headers: [.retryAfter: "600"], message: "the server cannot store it now")
    }
  }

  private static func response(_ answer: CoverageService.Answer, _ headers: HTTPFields = [:]) -> Response {
    .json(.init(code: answer.status), ByteBuffer(data: answer.body), headers)
  }
}

/// The context of a request, with the address of its client.
private struct ServedContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  let address: String

  init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    let text = source.channel.remoteAddress?.ipAddress ?? ""
    // A client of IPv4 at a socket for both versions.
    address = text.hasPrefix("::ffff:") ? String(text.dropFirst(7)) : text
  }
}
