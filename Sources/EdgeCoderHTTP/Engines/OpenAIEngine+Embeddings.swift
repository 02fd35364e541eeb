public import EdgeCoder
internal import FoundationEssentials
internal import JSONValues

extension OpenAIEngine {
  private struct Reply: Decodable {
    struct Item: Decodable {
      let index: Int?
      let embedding: [Double]
    }
    struct Usage: Decodable {
      let prompt_tokens: Int?
    }
    let data: [Item]
    let usage: Usage?
  }

  /// Returns the embeddings of the model by `/v1/embeddings`; see `Engine.embed(_:)`.
  ///
  /// These servers cut no text: one that does not fit into the context of the model is an error.
  public func embed(_ request: EmbeddingRequest) async throws -> Embeddings {
    let (model, _) = try await nextModel()
    var members: [JSONValue.Member] = model.map { [.init("model", .string($0))] } ?? []
    members += [
      .init("input", .array(request.texts.map { .string($0) })), .init("encoding_format", .string("float")),
    ]
    if let dimensions = request.dimensions { members.append(.init("dimensions", .number(dimensions))) }
    let body: Data
    do {
      body = try await http.post("/v1/embeddings", body: Data(JSONValue.object(members).encoded))
    } catch let refused as RefusedReply {
      let error = OpenAIWire.error(refused)
      let isAboutModel = String(decoding: refused.body, as: UTF8.self).lowercased().contains("model")
      let hasNoRoute = [405, 501].contains(refused.status) || refused.status == 404 && !isAboutModel
      guard hasNoRoute else { throw error }
      throw EngineError(
        .unsupported, "the model server does not support embeddings: \(error.message)",
        hint: "start llama.cpp with its option embeddings, or choose a model for them")
    }
    return try Self.embeddings(body, of: request)
  }

  private static func embeddings(_ body: Data, of request: EmbeddingRequest) throws -> Embeddings {
    let reply: Reply
    do { reply = try JSONDecoder().decode(Reply.self, from: body) } catch {
      throw EngineError(
        .badReply, "the model server sent embeddings that are not the OpenAI protocol", hint: "check the port")
    }
    let items = reply.data.enumerated().sorted { ($0.element.index ?? $0.offset) < ($1.element.index ?? $1.offset) }
    var embeddings = Embeddings(vectors: items.map(\.element.embedding))
    try embeddings.check(against: request)
    embeddings.promptTokens = reply.usage?.prompt_tokens
    return embeddings
  }
}
