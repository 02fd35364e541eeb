/// Texts for which a client asks for embeddings.
///
/// ```swift
/// var request = EmbeddingRequest(texts: ["a sea", "a lake"])
/// request.dimensions = 256
/// ```
public struct EmbeddingRequest: Sendable, Hashable {
  /// The texts, at least one.
  public var texts: [String]
  /// A Boolean value that indicates whether a text is cut to the context of the model; `nil` leaves it to the engine.
  public var truncates: Bool?
  /// The number of elements of each vector, 1 or more; `nil` for that of the model.
  public var dimensions: Int?

  /// Creates a request for texts.
  public init(texts: [String]) { self.texts = texts }
}

/// The embeddings of texts, with what the engine counted.
///
/// ```swift
/// let embeddings = Embeddings(vectors: [[0.6, 0.8]])
/// print(embeddings.vectors[0].count)  // 2
/// ```
public struct Embeddings: Sendable, Hashable {
  /// The vectors of the texts, in the order of the texts.
  public var vectors: [[Double]]
  /// The number of tokens of all texts; `nil` if the engine did not report it.
  public var promptTokens: Int?
  /// The time to load the model; `nil` if the engine did not report it.
  public var loadTime: Duration?

  /// Creates embeddings, of which nothing was counted.
  public init(vectors: [[Double]]) { self.vectors = vectors }
}

extension Engine {
  /// Throws ``EngineError`` `.unsupported`, for engines without embeddings.
  public func embed(_ request: EmbeddingRequest) async throws -> Embeddings {
    throw EngineError(.unsupported, "the engine \(name) does not support embeddings")
  }
}
