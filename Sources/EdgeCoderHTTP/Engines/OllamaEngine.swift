public import EdgeCoder
internal import FoundationEssentials

/// An engine that runs prompts on an Ollama server (streaming): conversations and tools by `/api/chat`, prompts by
/// `/api/generate`.
///
/// ```swift
/// let engine = try OllamaEngine(model: "qwen2.5:0.5b")
/// for try await output in engine.generate(.init(prompt: "Say hello.", maxTokens: 64)) { print(output) }
/// ```
public struct OllamaEngine: Engine {
  /// The default address of an Ollama server.
  public static let defaultURL = "http://127.0.0.1:11434"

  /// The name of the engine, `ollama`.
  public let name = "ollama"
  /// Every field but a choice of tools, which Ollama does not have.
  public let fields = Set(RequestField.allCases).subtracting([.toolChoice])
  /// The model to run; `nil` selects the loaded model, or else the first installed one.
  public let model: String?

  let http: EngineHTTP
  private let choice = ModelChoice()

  /// Creates an engine; it connects with the first prompt.
  /// - Parameters:
  ///   - url: The address of the server.
  ///   - model: The model to run; see ``model``.
  ///   - limits: The timeouts and size limits.
  /// - Throws: `EngineError` if `url` is not an HTTP URL.
  public init(url: String = defaultURL, model: String? = nil, limits: EngineLimits = EngineLimits()) throws {
    http = try EngineHTTP(url: url, limits: limits)
    self.model = model
  }

  /// Streams the text of the model; see `Engine.generate(_:)`.
  public func generate(_ request: InferenceRequest) -> AsyncThrowingStream<EngineOutput, any Error> {
    engineStream { deliver in
      while true {
        let (model, isRemembered) = try await nextModel()
        let asked = OllamaWire.Request(model: model, request)
        do {
          return try await http.stream(
            asked.path, body: Data(asked.body), decoder: OllamaReplyDecoder(), deliver: deliver)
        } catch let refused as RefusedReply {
          let error = OllamaWire.error(refused, model: model)
          // The server may have lost the model since it was chosen.
          guard error.code == .noModel, isRemembered else { throw error }
          forgetModel()
        }
      }
    }
  }

  /// Returns the present state of the model on the server.
  ///
  /// The state is `.ready` if the model is installed (Ollama loads it with the first prompt), `.notInstalled` if it or the
  /// server is missing, and `.error` if the server fails or does not answer within the timeout.
  public func modelState() async -> ModelState {
    do {
      let installed = try await installedModels()
      guard let model else { return installed.isEmpty ? .notInstalled : .ready }
      return Self.entry(of: model, in: installed) == nil ? .notInstalled : .ready
    } catch let error as EngineError where error.code == .unreachable {
      return .notInstalled
    } catch {
      return .error
    }
  }

  /// Returns the model of the next prompt, with the size that the server reports.
  public func activeModel() async -> ActiveModel? {
    do {
      if let model, let entry = Self.entry(of: model, in: try await installedModels()) {
        return ActiveModel(name: model, billionsOfParameters: entry.details?.billionsOfParameters)
      }
      guard let entry = try await chooseModel() else { return nil }
      return ActiveModel(name: entry.name, billionsOfParameters: entry.details?.billionsOfParameters)
    } catch {
      // ``modelState()`` reports the fault of the server.
      return nil
    }
  }

  /// Returns the model of the next prompt, and `true` if the server was not asked for it.
  func nextModel() async throws -> (String, isRemembered: Bool) {
    if let model { return (model, false) }
    let (chosen, isRemembered) = try await choice.model { try await chooseModel()?.name }
    if let chosen { return (chosen, isRemembered) }
    choice.forget()
    throw EngineError(
      .noModel, "the model server has no model", hint: "download one, for example: ollama pull qwen2.5:0.5b")
  }

  /// Forgets the model that was chosen, because the server has refused it.
  func forgetModel() { choice.forget() }

  /// Returns the model to use: the requested one, the loaded one, or the first installed one.
  private func chooseModel() async throws -> OllamaWire.ModelList.Model? {
    if let model { return OllamaWire.ModelList.Model(name: model, details: nil) }
    if let loaded = try await models(at: "/api/ps").first { return loaded }
    return try await installedModels().first
  }

  private func installedModels() async throws -> [OllamaWire.ModelList.Model] {
    try await models(at: "/api/tags")
  }

  private func models(at path: String) async throws -> [OllamaWire.ModelList.Model] {
    let reply = try await http.fetch(path)
    guard reply.status == 200 else {
      throw EngineError(.badReply, "the model server returned status \(reply.status) for \(path)")
    }
    do {
      return try JSONDecoder().decode(OllamaWire.ModelList.self, from: reply.body).models
    } catch {
      throw EngineError(.badReply, "the model server is not an Ollama server", hint: "check the port")
    }
  }

  private static func entry(
    of model: String, in installed: [OllamaWire.ModelList.Model]
  ) -> OllamaWire.ModelList.Model? {
    let wanted = fullName(model)
    return installed.first { fullName($0.name) == wanted }
  }

  /// `llama3.2` and `llama3.2:latest` are the same model.
  private static func fullName(_ model: String) -> String {
    let lastPart = model.split(separator: "/").last ?? ""
    return (lastPart.contains(":") ? model : model + ":latest").lowercased()
  }
}

/// Returns a stream fed by a task that is cancelled with the stream.
///
/// The text that waits in the stream is bounded by the limit on the size of a reply.
func engineStream(
  _ produce: @escaping @Sendable (_ deliver: @escaping @Sendable (EngineOutput) -> Void) async throws -> Void
) -> AsyncThrowingStream<EngineOutput, any Error> {
  AsyncThrowingStream { continuation in
    let task = Task {
      do {
        try await produce { output in
          continuation.yield(output)
          // The rest of the connection's last message is read without the consumer, who has all.
          if case .end = output { continuation.finish() }
        }
        continuation.finish()
      } catch {
        continuation.finish(throwing: error)
      }
    }
    continuation.onTermination = { if case .cancelled = $0 { task.cancel() } }
  }
}
