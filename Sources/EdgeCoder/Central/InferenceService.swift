/// A service that answers prompts: a ``Central``, a client of another process, or an implementation of your own.
public protocol InferenceService: Sendable {
  /// Sends one prompt to the best phone that is ready and returns its reply.
  ///
  /// Cancelling the task abandons the request: a reply that still arrives is dropped.
  /// - Parameters:
  ///   - request: The prompt and the limit of its reply; encoded it has at most 256 KiB by default.
  ///   - onPart: Receives the parts of the reply as they arrive from a phone with a v2 mux, which waits while the closure
  ///     runs. The pieces of text are the beginning of the text of the reply. The text of other phones arrives only with
  ///     the reply. Calls of tools arrive here alone.
  /// - Throws: ``InferenceError``, or `CancellationError`.
  func generate(
    _ request: InferenceRequest, onPart: @Sendable @escaping (ReplyPart) async -> Void
  ) async throws -> InferenceReply

  /// Returns the embeddings of texts, which only a model server has.
  /// - Throws: ``InferenceError``, `.unsupported` where there are none; `CancellationError`.
  func embed(_ request: EmbeddingRequest) async throws -> Embeddings

  /// Returns the status of the central, with its phones.
  func status() async -> CentralStatus
}

extension InferenceService {
  /// Throws ``InferenceError`` `.unsupported`, for services without embeddings.
  public func embed(_ request: EmbeddingRequest) async throws -> Embeddings {
    throw InferenceError(
      .unsupported, "a phone does not support embeddings", hint: "only a model server on the network has them")
  }

  /// Sends one prompt to the best phone that is ready and returns its reply; see ``generate(_:onPart:)``.
  /// - Parameters:
  ///   - prompt: The prompt.
  ///   - maxTokens: The limit on the tokens of the reply; `nil` selects the default of the engine.
  ///   - onText: Receives the text as it arrives from a phone with a v2 mux.
  public func generate(
    prompt: String, maxTokens: Int?, onText: @Sendable @escaping (String) async -> Void = { _ in }
  ) async throws -> InferenceReply {
    try await generate(InferenceRequest(prompt: prompt, maxTokens: maxTokens)) { part in
      if case .text(let text) = part { await onText(text) }
    }
  }
}

/// The reply to one prompt, with its origin.
///
/// ```swift
/// let reply = InferenceReply(id: "1", answer: .text("Hello!"), durationMs: 120, phone: "Workshop")
/// if let text = reply.answer.text { print(text) }
/// ```
public struct InferenceReply: Sendable, Hashable {
  /// The identifier of the request.
  public var id: String
  /// The text, or the reason why there is none.
  public var answer: Answer
  /// The time from the request to the complete reply, in milliseconds, measured at the central.
  public var durationMs: Int
  /// The name of the phone that answered; over the network, the name of the engine.
  public var phone: String
  /// The end of the text as the engine reports it; `nil` for a refusal, and if the phone does not pass it on.
  ///
  /// A phone passes it on over a v2 mux. The JSON messages have no field for it.
  public var completion: Completion?

  /// Creates a reply from its fields.
  public init(id: String, answer: Answer, durationMs: Int, phone: String, completion: Completion? = nil) {
    self.id = id
    self.answer = answer
    self.durationMs = durationMs
    self.phone = phone
    self.completion = completion
  }
}

/// The status of a central, as `GET /status` returns it; the first eight fields are those of the EdgeCoder proxy.
public struct CentralStatus: Sendable, Hashable, Codable {
  /// A Boolean value that indicates whether at least one phone is ready for prompts.
  public var connected: Bool
  /// A Boolean value that indicates whether the central is scanning for phones.
  public var scanning: Bool
  /// The model state of the best phone as sent; `unknown` before its first status.
  public var modelState: String
  /// The wall-clock time of the last sign of life of a phone, in Unix milliseconds; `nil` before the first.
  public var lastSeenMs: Int?
  /// The name of the best phone.
  public var deviceName: String?
  /// The stable identifier of the best phone.
  public var deviceId: String?
  /// The battery level of the best phone in percent, 0 to 100; `nil` when unknown.
  public var batteryPct: Int?
  /// The signal strength of the best phone in dBm.
  public var rssi: Int?
  /// The phones that the central knows, the best first.
  public var phones: [PhoneStatus]
  /// The destination of the next prompt; `nil` in a status of an older central.
  public var route: InferenceRoute?
  /// The reason for the destination, for display; `nil` if there is only one destination.
  public var routeReason: String?

  /// Creates a status from its fields that are never `nil`; the others are `nil`.
  public init(connected: Bool, scanning: Bool, modelState: String = "unknown", phones: [PhoneStatus] = []) {
    self.connected = connected
    self.scanning = scanning
    self.modelState = modelState
    self.phones = phones
  }
}

/// The status of one phone as the central knows it.
public struct PhoneStatus: Sendable, Hashable, Codable {
  /// The stable identifier of the phone.
  public var id: String
  /// The advertised name of the phone, or its address.
  public var name: String
  /// The raw value of the ``PhoneConnectionState`` of the phone.
  public var state: String
  /// The model state of the phone as sent; `unknown` before its first status.
  public var modelState: String
  /// The battery level in percent, 0 to 100; `nil` when unknown.
  public var batteryPct: Int?
  /// The signal strength in dBm; `nil` when unknown.
  public var rssi: Int?
  /// The number of requests that the phone has not answered yet.
  public var pending = 0
  /// The wall-clock time of the last sign of life, in Unix milliseconds.
  public var lastSeenMs: Int?
  /// The version of the protocol: 2 when requests use a v2 mux, 1 when they use the characteristics.
  public var linkVersion: Int
  /// The bearer of the v2 mux; `nil` without a mux.
  public var linkBearer: MuxBearer?
  /// A Boolean value that indicates whether the v2 mux carries options, messages, formats and tools; `nil` without a mux.
  public var linkTakesDetails: Bool?

  /// Creates the status of a phone without requests; ``linkVersion`` follows from the bearer.
  public init(
    id: String, name: String, state: String, modelState: String = "unknown", linkBearer: MuxBearer? = nil
  ) {
    self.id = id
    self.name = name
    self.state = state
    self.modelState = modelState
    self.linkBearer = linkBearer
    linkVersion = linkBearer == nil ? 1 : 2
  }
}
