internal import EdgeCoder
internal import FoundationEssentials
internal import Hummingbird
internal import JSONValues

/// The routes for embeddings, of Ollama and of OpenAI clients. Only a model server on the network has them.
struct EmbeddingRoutes: Sendable {
  let runner: PromptRunner

  func add(to router: APIRouter) {
    router.post("/api/embed") { request, context in
      let body = try await runner.decode(OllamaEmbedRequest.self, from: request)
      try ModelName.check(body.model)
      let started = ContinuousClock.now
      let embeddings = try await runner.embed(try body.checked(), for: context)
      let reply = OllamaEmbedReply(
        model: body.model ?? HTTPAPI.modelName, embeddings, wall: started.duration(to: .now))
      return Response.json(reply).naming(ignored: EmbeddingFields.ignored(in: body.json))
    }
    router.post("/api/embeddings") { request, context in
      let body = try await runner.decode(OllamaEmbeddingsRequest.self, from: request)
      try ModelName.check(body.model)
      let embeddings = try await runner.embed(EmbeddingRequest(texts: [body.prompt]), for: context)
      return Response.json(["embedding": embeddings.vectors.first ?? []])
        .naming(ignored: EmbeddingFields.ignored(in: body.json))
    }
    router.post("/v1/embeddings") { request, context in
      let body = try await runner.decode(OpenAIEmbeddingsRequest.self, from: request)
      try ModelName.check(body.model)
      let embeddings = try await runner.embed(try body.checked(), for: context)
      return Response.json(
        OpenAIEmbeddings(
          model: body.model ?? HTTPAPI.modelName, embeddings, inBase64: body.encoding_format == "base64")
      ).naming(ignored: EmbeddingFields.ignored(in: body.json))
    }
  }
}

extension PromptRunner {
  /// Returns the embeddings of texts; a client that disconnects cancels them.
  /// - Throws: ``APIError``, or `CancellationError` when the server stops.
  func embed(_ request: EmbeddingRequest, for context: APIContext) async throws -> Embeddings {
    try await context.whileClientListens { [service] in
      do {
        return try await service.embed(request)
      } catch let error as InferenceError {
        throw APIError(error)
      }
    }
  }
}

/// The fields and the limits that the routes for embeddings share.
enum EmbeddingFields {
  /// The number of texts of one request, as at OpenAI.
  static let textLimit = 2048
  private static let known: Set = [
    "model", "input", "prompt", "truncate", "dimensions", "keep_alive", "encoding_format", "user",
  ]

  static func ignored(in json: JSONValue) -> [String] {
    DetailFields.unknown(in: json, known: known.union(["options"]))
      + (json["options"].map { DetailFields.unknown(in: $0, known: []) } ?? [])
  }

  static func checked(
    _ texts: [String], dimensions: Int?, truncates: Bool? = nil
  ) throws -> EmbeddingRequest {
    guard (1...textLimit).contains(texts.count) else {
      throw APIError.badRequest("`input` has \(texts.count) texts; allowed: 1 to \(textLimit)")
    }
    if let dimensions, !(1...65_536).contains(dimensions) {
      throw APIError.badRequest("`dimensions` is \(dimensions); allowed: 1 to 65536")
    }
    var request = EmbeddingRequest(texts: texts)
    request.dimensions = dimensions
    request.truncates = truncates
    return request
  }
}

/// The body of `/api/embed`; names are those of the protocol.
struct OllamaEmbedRequest: Decodable, Sendable {
  let model: String?
  let input: StringOrList
  let truncate: Bool?
  let dimensions: Int?
}

extension RequestBody<OllamaEmbedRequest> {
  func checked() throws -> EmbeddingRequest {
    try EmbeddingFields.checked(
      fields.input.values, dimensions: fields.dimensions, truncates: fields.truncate)
  }
}

/// The body of `/api/embeddings`, the older route for one text.
struct OllamaEmbeddingsRequest: Decodable, Sendable {
  let model: String?
  let prompt: String
}

/// The body of `/v1/embeddings`.
struct OpenAIEmbeddingsRequest: Decodable, Sendable {
  let model: String?
  let dimensions: Int?
  let encoding_format: String?
}

extension RequestBody<OpenAIEmbeddingsRequest> {
  func checked() throws -> EmbeddingRequest {
    guard [nil, "float", "base64"].contains(fields.encoding_format) else {
      throw APIError.badRequest("`encoding_format` is not float or base64")
    }
    let texts: [String]
    switch json["input"] {
    case .string(let text): texts = [text]
    case .array(let elements):
      texts = elements.compactMap(\.text)
      guard texts.count == elements.count else {
        throw APIError.badRequest("\(HTTPAPI.modelName) does not support tokens as `input`: send texts")
      }
    case nil: throw APIError.badRequest("`input` is missing")
    default: throw APIError.badRequest("`input` is not a text or a list of texts")
    }
    return try EmbeddingFields.checked(texts, dimensions: fields.dimensions)
  }
}

/// The reply of `/api/embed`; durations in nanoseconds.
struct OllamaEmbedReply: Encodable, Sendable {
  let model: String
  let embeddings: [[Double]]
  let total_duration: Int
  let load_duration: Int?
  let prompt_eval_count: Int?

  init(model: String, _ embeddings: Embeddings, wall: Duration) {
    self.model = model
    self.embeddings = embeddings.vectors
    var completion = Completion(.stop)
    completion.loadTime = embeddings.loadTime
    completion.promptTokens = embeddings.promptTokens
    let final = FinalFields(completion, wall: wall)
    total_duration = final.total_duration
    load_duration = final.load_duration
    prompt_eval_count = final.prompt_eval_count
  }
}

/// The reply of `/v1/embeddings`.
struct OpenAIEmbeddings: Encodable, Sendable {
  struct Item: Encodable, Sendable {
    let object = "embedding"
    let index: Int
    let embedding: Vector
  }

  /// A vector as numbers, or as base64 of little-endian floats of 32 bits, which OpenAI's client for Python asks for.
  enum Vector: Encodable, Sendable {
    case numbers([Double])
    case base64(String)

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .numbers(let numbers): try container.encode(numbers)
      case .base64(let text): try container.encode(text)
      }
    }
  }

  struct Usage: Encodable, Sendable {
    let prompt_tokens: Int
    let total_tokens: Int
  }

  let object = "list"
  let data: [Item]
  let model: String
  /// The tokens; `nil` if the engine did not report them.
  let usage: Usage?

  init(model: String, _ embeddings: Embeddings, inBase64: Bool) {
    self.model = model
    data = embeddings.vectors.enumerated().map { index, vector in
      Item(index: index, embedding: inBase64 ? .base64(Self.base64(vector)) : .numbers(vector))
    }
    usage = embeddings.promptTokens.map { Usage(prompt_tokens: $0, total_tokens: $0) }
  }

  private static func base64(_ vector: [Double]) -> String {
    var bytes = Data(capacity: vector.count * 4)
    for element in vector {
      withUnsafeBytes(of: Float(element).bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
    }
    return bytes.base64EncodedString()
  }
}
