public import EdgeCoder

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Runs prompts on an Ollama server (`/api/generate`, streaming).
///
/// ```swift
/// let engine = try OllamaEngine(model: "qwen2.5:0.5b")
/// for try await piece in engine.generate(prompt: "Say hello.", maxTokens: 64) { print(piece) }
/// ```
public struct OllamaEngine: Engine {
  /// Where Ollama listens unless told otherwise.
  public static let defaultURL = "http://127.0.0.1:11434"

  /// `ollama`.
  public let name = "ollama"
  /// The model to run; `nil` takes the one that is loaded, or else the first one that is installed.
  public let model: String?

  let http: EngineHTTP

  /// Makes an engine; connects to nothing yet.
  /// - Throws: `EngineError` when `url` is no HTTP address.
  public init(url: String = defaultURL, model: String? = nil, limits: EngineLimits = EngineLimits()) throws {
    http = try EngineHTTP(url: url, limits: limits)
    self.model = model
  }

  /// Streams the model's text; see `Engine.generate(prompt:maxTokens:)`.
  public func generate(prompt: String, maxTokens: Int) -> AsyncThrowingStream<String, any Error> {
    engineStream { deliver in
      guard let model = try await chooseModel()?.name else {
        throw EngineError(
          .refused, "\(http.address) has no model", hint: "fetch one, for example: ollama pull qwen2.5:0.5b")
      }
      let request = OllamaWire.GenerateRequest(
        model: model, prompt: prompt, options: .init(num_predict: max(1, maxTokens)))
      do {
        try await http.stream(
          "/api/generate", body: JSONEncoder().encode(request), decoder: OllamaReplyDecoder(address: http.address),
          deliver: deliver)
      } catch let refused as RefusedReply {
        throw OllamaWire.error(refused, address: http.address, model: model)
      }
    }
  }

  /// What the server can do now.
  ///
  /// `.ready` when the model is installed (Ollama loads it when the first prompt comes), `.notInstalled` when it or the
  /// server is missing, `.error` when the server does not work or does not answer within the limit.
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

  /// The model of the next prompt, with the size that the server tells.
  public func activeModel() async -> ActiveModel? {
    do {
      if let model, let entry = Self.entry(of: model, in: try await installedModels()) {
        return ActiveModel(name: model, billionsOfParameters: entry.details?.billionsOfParameters)
      }
      guard let entry = try await chooseModel() else { return nil }
      return ActiveModel(name: entry.name, billionsOfParameters: entry.details?.billionsOfParameters)
    } catch {
      // ``modelState()`` says what is wrong with the server.
      return nil
    }
  }

  /// The model to use: the one asked for, the one in memory, or the first one installed.
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
      throw EngineError(.badReply, "\(http.address)\(path) answers with status \(reply.status)")
    }
    do {
      return try JSONDecoder().decode(OllamaWire.ModelList.self, from: reply.body).models
    } catch {
      throw EngineError(.badReply, "\(http.address) is no Ollama server", hint: "is the port right?")
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

/// A stream fed by a task of its own that ends with the stream: dropping or cancelling the one cancels the other.
///
/// What waits in the stream is bounded by the limit on a reply's size.
func engineStream(
  _ produce: @escaping @Sendable (_ deliver: @escaping @Sendable (String) -> Void) async throws -> Void
) -> AsyncThrowingStream<String, any Error> {
  AsyncThrowingStream { continuation in
    let task = Task {
      do {
        try await produce { continuation.yield($0) }
        continuation.finish()
      } catch {
        continuation.finish(throwing: error)
      }
    }
    continuation.onTermination = { _ in task.cancel() }
  }
}
