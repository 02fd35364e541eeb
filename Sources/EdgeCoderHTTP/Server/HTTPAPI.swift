public import EdgeCoder
internal import Hummingbird
internal import IncomingHTTP
public import Logging
public import ServiceLifecycle

/// An HTTP server that offers an `InferenceService` to the programs on this host, on one loopback port.
///
/// The server supports EdgeCoder, Ollama and OpenAI clients.
///
/// ```swift
/// import EdgeCoder
/// import Logging
///
/// func serve(_ central: Central) async throws {
///   let api = HTTPAPI(service: central, logger: Logger(label: "http")) { port in print("port", port) }
///   try await api.run()
/// }
/// ```
///
/// | path | for |
/// |---|---|
/// | any method `/status` | EdgeCoder: the status of the central |
/// | `POST /api/generate` | EdgeCoder and Ollama |
/// | `POST /api/chat`, `GET /api/tags`, `POST /api/show`, `POST /api/pull`, `GET /api/version`, `GET /api/ps` | Ollama |
/// | `POST /api/embed`, `POST /api/embeddings`, `POST /v1/embeddings` | Ollama and OpenAI: embeddings of a model server |
/// | `POST /v1/responses`, `POST /v1/chat/completions`, `POST /v1/completions`, `GET /v1/models` | OpenAI |
///
/// **One model.** All phones are the model `edgecoder`, and the central chooses the phone. A request for another model
/// gets 404; a request without a model is served.
///
/// **Streams.** Over a v2 mux the text of a phone is sent to the client as it is produced; a slow client delays its phone.
/// The reply of another phone is sent when it is complete. The response starts with the first text, so that its status
/// covers all failures before. A later failure is part of the stream: a line with `error` for Ollama clients, an event with
/// `error` and without `[DONE]` (`response.completed` in `/v1/responses`) for OpenAI clients. A piece has at most 4 KiB.
///
/// **Conversations and parameters.** Messages with their roles, options (temperature, seed, `top_p`, `num_ctx` …), formats
/// and JSON schemas, images, tools and calls of tools go to the model server of the network route as they are, and to a
/// phone over a v2 mux that accepts them. `stop` is applied by this server, too, which cancels the prompt at the first
/// sequence. Parameters that nobody behind this server supports (log probabilities, several choices) are refused with
/// 400, and so are tools, formats and images that the phone, its connection or its model does not support.
///
/// **Losses.** A phone without such a mux gets one prompt: a single user message unchanged, after the system text and an
/// empty line if there is one; a longer conversation as the system text followed by `User: …`, `Assistant: …` and `Tool: …`
/// with empty lines between them, and a last `Assistant:`. The header `edgecoder-ignored` of a reply names the fields of
/// the request that had no effect on it, for example `messages, temperature`.
///
/// **Ends.** `done_reason` and `finish_reason`, token counts and durations are those of the engine. A phone passes them on
/// over a v2 mux. Where they are unknown, as after a stop sequence, the reason is `stop` and the counts are left out.
///
/// **Failures.** 400 invalid input, or a prompt that exceeds the context of the model, 403 not from this host, 404, 405, 408
/// body too slow, 413 body or prompt too large, 501 a route of Ollama or OpenAI that phones do not have, 502 the phone
/// failed, 503 no phone or no model ready (with the reason), 503 busy (429 for OpenAI clients; with `Retry-After` and
/// `x-should-retry`), 504 no reply in time; each in the form that the client expects. An EdgeCoder client (a body without `model`) gets the failure of a phone as from its proxy: 200 with `ok: false`.
///
/// **Safety.** The server binds 127.0.0.1 only. It refuses requests whose `Host` is not loopback, and requests of a browser
/// for a page of another origin, so that no web site can reach the phones through the browser of a visitor. Pages of this
/// host, of programs (`app`, `tauri`, `vscode-webview` and `vscode-file`), and of ``Configuration/origins`` are admitted.
///
/// A client that disconnects cancels its request.
public struct HTTPAPI: Service {
  /// The port, the timeouts and the size limits of the server.
  public struct Configuration: Sendable {
    /// The port on 127.0.0.1; 0 selects a free one. Default: 11435, as in the EdgeCoder proxy.
    public var port: Int
    /// The limit on the body of a request, in bytes. Default: 1 MiB.
    public var bodyLimit: Int
    /// The timeout in which a client must send its body. Default: 20 s.
    public var bodyTimeout: Duration
    /// The timeout of a reply, or of each piece of a streamed one. Default: 95 s, a little more than in the central.
    public var replyTimeout: Duration
    /// The timeout of a whole streamed reply. Default: 610 s, a little more than in the central.
    public var streamTimeout: Duration
    /// The limit on open connections; more wait in the queue of the kernel. Default: 128.
    public var connectionLimit: Int
    /// The origins of pages, besides those of this host and of programs on it, that may use the server, for example
    /// `https://chat.example.org`. Default: none.
    public var origins: Set<String> = []
    /// The context of the model that Ollama clients are told, in tokens; phones do not report theirs. Default: 4096.
    public var contextLength = 4096

    /// Creates a configuration; each property describes its default.
    public init(
      port: Int = 11435, bodyLimit: Int = 1 << 20, bodyTimeout: Duration = .seconds(20),
      replyTimeout: Duration = .seconds(95), streamTimeout: Duration = .seconds(610), connectionLimit: Int = 128
    ) {
      self.port = port
      self.bodyLimit = bodyLimit
      self.bodyTimeout = bodyTimeout
      self.replyTimeout = replyTimeout
      self.streamTimeout = streamTimeout
      self.connectionLimit = connectionLimit
    }
  }

  /// The name of the model that all phones are.
  public static let modelName = "edgecoder"

  let service: any InferenceService
  let configuration: Configuration
  let logger: Logger
  private let onListening: @Sendable (Int) async -> Void

  /// Creates the server; it accepts connections while ``run()`` runs.
  /// - Parameters:
  ///   - service: The service that answers prompts.
  ///   - configuration: The port, the timeouts and the size limits.
  ///   - logger: The logger of method, path, status and duration of each request at `debug`; never of a prompt or a reply.
  ///   - onListening: Called once with the port, when connections are accepted.
  public init(
    service: any InferenceService, configuration: Configuration = Configuration(), logger: Logger,
    onListening: @escaping @Sendable (Int) async -> Void = { _ in }
  ) {
    self.service = service
    self.configuration = configuration
    self.logger = logger
    self.onListening = onListening
  }

  /// Serves until the service group shuts down gracefully, or the task is cancelled.
  ///
  /// A graceful shutdown finishes the requests in progress; cancellation closes their connections.
  /// - Throws: An error of the socket layer if the port is in use.
  public func run() async throws {
    let connections = OpenConnections()
    try await server.run(application(connections)) { connections.closeAll() }
  }

  /// Returns the server with its router, which tests use directly.
  func application(_ connections: OpenConnections = OpenConnections()) -> some ApplicationProtocol {
    server.application(router(), over: IncomingHTTPServer.http { [ClientDepartureHandler(connections)] })
  }

  private var server: IncomingHTTPServer {
    IncomingHTTPServer(
      port: configuration.port, connections: configuration.connectionLimit, logger: logger, onListening: onListening)
  }

  private func router() -> APIRouter {
    let router = APIRouter(context: APIContext.self)
    let body = IncomingBody(limit: configuration.bodyLimit, timeout: configuration.bodyTimeout)
    router.add(middleware: RequestGate(body: body, origins: OriginRule(named: configuration.origins), logger: logger))
    router.add(middleware: RouteFallback())
    let runner = PromptRunner(service: service, configuration: configuration)
    EdgeCoderRoutes(runner: runner).add(to: router)
    OllamaRoutes(runner: runner).add(to: router)
    OpenAIRoutes(runner: runner).add(to: router)
    ResponsesRoute(runner: runner).add(to: router)
    EmbeddingRoutes(runner: runner).add(to: router)
    return router
  }
}
