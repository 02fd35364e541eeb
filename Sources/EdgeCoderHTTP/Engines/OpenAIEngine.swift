public import EdgeCoder

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Runs prompts on any OpenAI-compatible server, such as llama.cpp's.
///
/// The prompt goes out as one user message to `/v1/chat/completions`, so that the server applies the model's own chat
/// template. A server without that route gets it as `/v1/completions`.
public struct OpenAIEngine: Engine {
  /// Where llama.cpp's server listens unless told otherwise.
  public static let defaultURL = "http://127.0.0.1:8080"

  /// `openai`.
  public let name = "openai"
  /// The model to ask for; `nil` takes the first one the server lists.
  public let model: String?

  let http: EngineHTTP

  /// Makes an engine; connects to nothing yet.
  /// - Parameters:
  ///   - url: the server, with or without the final `/v1`.
  ///   - model: see ``model``.
  ///   - apiKey: sent as a bearer token; never logged.
  ///   - limits: the bounds of every wait and buffer.
  /// - Throws: `EngineError` when `url` is no HTTP address.
  public init(
    url: String = defaultURL, model: String? = nil, apiKey: APIKey? = nil, limits: EngineLimits = EngineLimits()
  ) throws {
    var base = url
    while base.hasSuffix("/") { base.removeLast() }
    if base.hasSuffix("/v1") { base.removeLast("/v1".count) }
    http = try EngineHTTP(url: base, apiKey: apiKey, limits: limits)
    self.model = model
  }

  /// Streams the model's text; see `Engine.generate(prompt:maxTokens:)`.
  public func generate(prompt: String, maxTokens: Int) -> AsyncThrowingStream<String, any Error> {
    engineStream { deliver in
      let model = try await chooseModel()
      var request = OpenAIWire.Request(model: model, prompt: prompt, maxTokens: max(1, maxTokens))
      while true {
        do {
          return try await http.stream(
            request.path, body: JSONEncoder().encode(request), decoder: OpenAIReplyDecoder(address: http.address),
            deliver: deliver)
        } catch let refused as RefusedReply {
          // Nothing has been delivered yet: a refusal comes instead of a reply, so asking again repeats no text.
          guard let next = request.alternative(after: refused) else {
            throw OpenAIWire.error(refused, address: http.address)
          }
          request = next
        }
      }
    }
  }

  /// What the server can do now.
  ///
  /// `.loading` while the server says so (llama.cpp answers 503), `.ready` when the model is listed, `.notInstalled` when
  /// it or the server is missing, `.error` when the server refuses the key, fails or does not answer within the limit.
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
      // While llama.cpp loads, newer versions already list the model; only /health tells.
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

  /// The model of the next prompt; llama.cpp tells its size, too.
  public func activeModel() async -> ActiveModel? {
    do {
      let list = try await listModels()
      // llama.cpp answers to every name with the model that it has.
      let entry = list?.isLlamaCpp == true || model == nil ? list?.data.first : list?.data.first { $0.id == model }
      guard let name = model ?? entry?.id else { return nil }
      return ActiveModel(name: name, billionsOfParameters: entry?.meta?.n_params.map { $0 / 1_000_000_000 })
    } catch {
      // ``modelState()`` says what is wrong with the server.
      return nil
    }
  }

  /// The model's name to send; a server that lists none is asked without one.
  private func chooseModel() async throws -> String? {
    if let model { return model }
    return try await listModels()?.data.first?.id
  }

  private func listModels() async throws -> OpenAIWire.ModelList? {
    let reply = try await http.fetch("/v1/models")
    guard reply.status == 200 else { return nil }
    do {
      return try JSONDecoder().decode(OpenAIWire.ModelList.self, from: reply.body)
    } catch {
      throw EngineError(
        .badReply, "\(http.address) is no OpenAI-compatible server", hint: "is the port right?")
    }
  }
}
