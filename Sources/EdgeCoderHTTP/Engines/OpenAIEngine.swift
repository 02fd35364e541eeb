public import EdgeCoder
internal import FoundationEssentials

/// An engine that runs prompts on an OpenAI-compatible server, for example that of llama.cpp.
///
/// The messages are sent to `/v1/chat/completions`, a prompt as one user message, so that the server applies the chat
/// template of the model. A server without that route gets the prompt at `/v1/completions`. Options that only llama.cpp and
/// similar servers have are left out where a server refuses them.
///
/// ```swift
/// let engine = try OpenAIEngine(url: "http://127.0.0.1:8080", apiKey: APIKey("sk-secret"))
/// for try await output in engine.generate(.init(prompt: "Say hello.", maxTokens: 64)) { print(output) }
/// ```
public struct OpenAIEngine: Engine {
  /// The default address of the server of llama.cpp.
  public static let defaultURL = "http://127.0.0.1:8080"

  /// The name of the engine, `openai`.
  public let name = "openai"
  /// Every field but the length of the context, which a server fixes when it starts.
  public let fields = Set(RequestField.allCases).subtracting([.contextLength])
  /// The model to run; `nil` selects the first one that the server lists.
  public let model: String?

  let http: EngineHTTP
  private let choice = ModelChoice()

  /// Creates an engine; it connects with the first prompt.
  /// - Parameters:
  ///   - url: The address of the server, with or without the final `/v1`.
  ///   - model: The model to run; see ``model``.
  ///   - apiKey: The key, sent as a bearer token and never logged.
  ///   - limits: The timeouts and size limits.
  /// - Throws: `EngineError` if `url` is not an HTTP URL.
  public init(
    url: String = defaultURL, model: String? = nil, apiKey: APIKey? = nil, limits: EngineLimits = EngineLimits()
  ) throws {
    var base = url
    while base.hasSuffix("/") { base.removeLast() }
    if base.hasSuffix("/v1") { base.removeLast("/v1".count) }
    http = try EngineHTTP(url: base, apiKey: apiKey, limits: limits)
    self.model = model
  }

  /// Streams the text of the model; see `Engine.generate(_:)`.
  public func generate(_ request: InferenceRequest) -> AsyncThrowingStream<EngineOutput, any Error> {
    engineStream { deliver in
      var (model, isRemembered) = try await nextModel()
      var form = OpenAIRequestForm(model: model, request)
      while true {
        do {
          if !form.ignored.isEmpty { deliver(.ignored(form.ignored)) }
          return try await http.stream(
            form.path, body: Data(form.body), decoder: OpenAIReplyDecoder(), deliver: deliver)
        } catch let refused as RefusedReply {
          // Nothing was delivered yet: a refusal replaces the reply, so a retry repeats no text.
          if let next = try form.alternative(after: refused) {
            form = next
            continue
          }
          let error = OpenAIWire.error(refused)
          // The server may have another model since this one was chosen.
          guard error.code == .noModel, isRemembered else { throw error }
          choice.forget()
          (model, isRemembered) = try await nextModel()
          form = OpenAIRequestForm(model: model, request)
        }
      }
    }
  }

  /// Returns the present state of the model on the server.
  ///
  /// The state is `.loading` while the server reports it (llama.cpp returns 503), `.ready` if the model is listed,
  /// `.notInstalled` if it or the server is missing, and `.error` if the server refuses the key, fails, or does not answer
  /// within the timeout.
  public func modelState() async -> ModelState {
    do {
      let reply = try await http.fetch("/v1/models")
      switch reply.status {
      case 200: break
      case 503: return .loading
      case 404: return try await health()
      default: return .error
      }
      let list = try JSONDecoder().decode(OpenAIWire.ModelList.self, from: reply.body)
      // Newer versions of llama.cpp list a model while they load it; only /health reports that.
      if list.isLlamaCpp, try await health() == .loading { return .loading }
      return list.serves(model) ? .ready : .notInstalled
    } catch let error as EngineError where error.code == .unreachable {
      return .notInstalled
    } catch {
      return .error
    }
  }

  private func health() async throws -> ModelState {
    switch try await http.fetch("/health").status {
    case 200: .ready
    case 503: .loading
    default: .error
    }
  }

  /// Returns the slots of llama.cpp, which it names at `/props`; 1 for another server.
  public func slots() async -> Int {
    struct Properties: Decodable { let total_slots: Int }
    do {
      let reply = try await http.fetch("/props")
      guard reply.status == 200 else { return 1 }
      return max(1, try JSONDecoder().decode(Properties.self, from: reply.body).total_slots)
    } catch {
      // Another server has other properties, or none.
      return 1
    }
  }

  /// Returns the model of the next prompt, with the size if the server is llama.cpp.
  public func activeModel() async -> ActiveModel? {
    do {
      let list = try await listModels()
      // llama.cpp has one model and accepts every name.
      let entry = list?.isLlamaCpp == true || model == nil ? list?.data.first : list?.data.first { $0.id == model }
      guard let name = model ?? entry?.id else { return nil }
      return ActiveModel(name: name, billionsOfParameters: entry?.meta?.n_params.map { $0 / 1_000_000_000 })
    } catch {
      // ``modelState()`` reports the fault of the server.
      return nil
    }
  }

  /// Returns the name of the model to send, which is `nil` for a server that lists none, and `true` if the server was not
  /// asked for it.
  func nextModel() async throws -> (model: String?, isRemembered: Bool) {
    if let model { return (model, false) }
    return try await choice.model { try await listModels()?.data.first?.id }
  }

  private func listModels() async throws -> OpenAIWire.ModelList? {
    let reply = try await http.fetch("/v1/models")
    guard reply.status == 200 else { return nil }
    do {
      return try JSONDecoder().decode(OpenAIWire.ModelList.self, from: reply.body)
    } catch {
      throw EngineError(
        .badReply, "the model server is not an OpenAI-compatible server", hint: "check the port")
    }
  }
}
