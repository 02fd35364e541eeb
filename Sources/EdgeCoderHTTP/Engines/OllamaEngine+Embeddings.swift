public import EdgeCoder
internal import FoundationEssentials
internal import JSONValues

extension OllamaEngine {
  private struct Reply: Decodable {
    let embeddings: [[Double]]
    let load_duration: Int?
    let prompt_eval_count: Int?
  }

  /// Returns the embeddings of the model by `/api/embed`; see `Engine.embed(_:)`.
  public func embed(_ request: EmbeddingRequest) async throws -> Embeddings {
    while true {
      let (model, isRemembered) = try await nextModel()
      var members: [JSONValue.Member] = [
        .init("model", .string(model)), .init("input", .array(request.texts.map { .string($0) })),
      ]
      if let truncates = request.truncates { members.append(.init("truncate", .bool(truncates))) }
      if let dimensions = request.dimensions { members.append(.init("dimensions", .number(dimensions))) }
      do {
        let body = try await http.post("/api/embed", body: Data(JSONValue.object(members).encoded))
        return try Self.embeddings(body, of: request)
      } catch let refused as RefusedReply {
        let error = OllamaWire.error(refused, model: model)
        guard error.code == .noModel, isRemembered else { throw error }
        forgetModel()
      }
    }
  }

  private static func embeddings(_ body: Data, of request: EmbeddingRequest) throws -> Embeddings {
    let reply: Reply
    do { reply = try JSONDecoder().decode(Reply.self, from: body) } catch {
      throw EngineError(
        .badReply, "the model server sent embeddings that are not Ollama's JSON", hint: "check the port")
    }
    var embeddings = Embeddings(vectors: reply.embeddings)
    try embeddings.check(against: request)
    embeddings.promptTokens = reply.prompt_eval_count
    embeddings.loadTime = reply.load_duration.map { .nanoseconds($0) }
    return embeddings
  }
}

extension Embeddings {
  /// Checks that there is a vector for each text.
  /// - Throws: `EngineError` `.badReply`.
  func check(against request: EmbeddingRequest) throws(EngineError) {
    guard vectors.count == request.texts.count else {
      throw EngineError(
        .badReply, "the model server sent \(vectors.count) embeddings for \(request.texts.count) texts")
    }
  }
}
