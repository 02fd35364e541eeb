public import EdgeCoder
internal import Hummingbird
internal import HummingbirdCore
public import Logging
internal import NIOCore
public import ServiceLifecycle

/// Serves an `InferenceService` to every program on this machine: EdgeCoder's own clients, Ollama clients and OpenAI
/// clients, on one loopback port.
///
/// | path | for |
/// |---|---|
/// | any method `/status` | EdgeCoder: is a phone there, and which |
/// | `POST /api/generate` | EdgeCoder and Ollama |
/// | `POST /api/chat`, `GET /api/tags`, `POST /api/show`, `GET /api/version`, `GET /api/ps` | Ollama |
/// | `POST /v1/chat/completions`, `POST /v1/completions`, `GET /v1/models` | OpenAI |
///
/// **One model.** Every phone answers as the model `edgecoder`; the central chooses the phone. A request for another
/// model gets 404, so that nobody takes a phone's answer for another model's; a request that names none is served.
///
/// **Streams.** Over a v2 link a phone's text comes as it is made, and goes on to the client at once; a client that
/// reads slowly holds up its phone. Another phone answers whole. In both cases the stream starts with the first text, so
/// that until then the status line tells the truth about failures; what fails later is told in the stream: in a line
/// with `error` where Ollama's clients look for it, in an event with `error` and without `[DONE]` for OpenAI's. A piece
/// has at most 4 KiB.
///
/// **Conversations.** A phone takes one prompt. A single user message goes out as it is, after the system text and an
/// empty line if there is one; a longer conversation as the system text and then `User: …`, `Assistant: …` and `Tool: …`
/// with empty lines between, and a last `Assistant:`.
///
/// **What is not passed on.** Only the token limit travels; `stop` is applied to the reply here. Temperature, seed and
/// their like are passed over. What would change the meaning of the answer (images, tools, formats, log
/// probabilities, several choices) is refused with 400. Token counts are estimates: one for four bytes.
///
/// **Failures.** 400 bad input, 403 not from this machine, 404, 405, 408 body too slow, 413 body or prompt too large,
/// 502 the phone says that it failed, 503 no phone ready (with the reason), 504 no reply in time; each in the shape that
/// the client's family expects. An EdgeCoder client (a body without `model`) gets a phone's failure as its proxy sends
/// it: 200 with `ok: false`.
///
/// **Safety.** It binds 127.0.0.1 only, and refuses requests whose `Host` is not loopback and those a browser sends for
/// a page from elsewhere, so that no web site can reach the phones through a visitor's browser.
///
/// A client that goes away cancels its request.
public struct HTTPAPI: Service {
  /// The bounds and the address of the server.
  public struct Configuration: Sendable {
    /// The port on 127.0.0.1; 0 takes a free one. Default 11435, the EdgeCoder proxy's.
    public var port: Int
    /// The largest body accepted, in bytes; default 1 MiB.
    public var bodyBytes: Int
    /// The time a client has to send its body; default 20 s.
    public var bodyTime: Duration
    /// The longest wait for a reply, or where it comes in pieces for the next one; default 95 s, a little more than the
    /// central's own limit.
    public var replyTime: Duration
    /// The longest wait for the end of a reply that comes in pieces; default 610 s, a little more than the central's own.
    public var streamTime: Duration
    /// The most connections at once; more wait in the kernel's queue. Default 128.
    public var connections: Int

    /// Makes a configuration; see the properties for the defaults.
    public init(
      port: Int = 11435, bodyBytes: Int = 1 << 20, bodyTime: Duration = .seconds(20),
      replyTime: Duration = .seconds(95), streamTime: Duration = .seconds(610), connections: Int = 128
    ) {
      self.port = port
      self.bodyBytes = bodyBytes
      self.bodyTime = bodyTime
      self.replyTime = replyTime
      self.streamTime = streamTime
      self.connections = connections
    }
  }

  /// The name every phone answers to.
  public static let modelName = "edgecoder"

  let service: any InferenceService
  let configuration: Configuration
  let logger: Logger
  private let onListening: @Sendable (Int) async -> Void

  /// Makes the API; it listens while ``run()`` runs.
  /// - Parameters:
  ///   - service: who answers.
  ///   - configuration: address and bounds.
  ///   - logger: gets method, path, status and time of each request at `debug`, never a prompt or a reply.
  ///   - onListening: called once with the port, when connections are accepted.
  public init(
    service: any InferenceService, configuration: Configuration = Configuration(), logger: Logger,
    onListening: @escaping @Sendable (Int) async -> Void = { _ in }
  ) {
    self.service = service
    self.configuration = configuration
    self.logger = logger
    self.onListening = onListening
  }

  /// Listens until the service group shuts down gracefully, which lets requests under way finish, or the task is
  /// cancelled, which cuts them off.
  /// - Throws: an error of the socket layer when the port is taken.
  public func run() async throws {
    let connections = OpenConnections()
    let group = ServiceGroup(services: [application(connections)], logger: quietLogger)
    // A task of its own, which is never cancelled: SwiftNIO traps when a server is, while it accepts a connection.
    // So a cancellation becomes a graceful end, without the patience.
    let server = Task { try await group.run() }
    try await withTaskCancellationHandler {
      try await server.value
    } onCancel: {
      Task {
        await group.triggerGracefulShutdown()
        connections.endAll()
      }
    }
  }

  /// The server, with its router; the tests drive it.
  func application(_ connections: OpenConnections = OpenConnections()) -> some ApplicationProtocol {
    Application(
      router: router(),
      server: .http1(
        configuration: .init(
          additionalChannelHandlers: [ClientDepartureHandler(connections)], idleTimeout: .seconds(30))),
      configuration: ApplicationConfiguration(
        address: .hostname("127.0.0.1", port: configuration.port),
        serverName: "edgeblue",
        availableConnectionsDelegate: MaximumAvailableConnections(configuration.connections, logger: quietLogger)),
      onServerRunning: { [onListening] channel in
        if let port = channel.localAddress?.port { await onListening(port) }
      },
      logger: quietLogger)
  }

  /// The server's own chatter is of interest only to those who look for a fault in it.
  private var quietLogger: Logger {
    var logger = logger
    logger.logLevel = max(logger.logLevel, logger.logLevel == .trace ? .trace : .notice)
    return logger
  }

  private func router() -> APIRouter {
    let router = APIRouter(context: APIContext.self)
    router.add(middleware: RequestGate(logger: logger))
    router.add(middleware: RouteFallback(service: service))
    let runner = PromptRunner(service: service, configuration: configuration)
    EdgeCoderRoutes(runner: runner).add(to: router)
    OllamaRoutes(runner: runner).add(to: router)
    OpenAIRoutes(runner: runner).add(to: router)
    return router
  }
}
