internal import EdgeCoder
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import Timing

/// A prompt for a phone, with its parameters.
struct Prompt: Sendable {
  var request: InferenceRequest
  /// The fields of the client that have no effect wherever the prompt goes.
  var ignored: [String] = []

  /// Creates a prompt for a conversation.
  init(messages: [ChatMessage], maxTokens: Int?, _ options: GenerationOptions) {
    request = InferenceRequest(messages: messages, maxTokens: maxTokens)
    request.details.options = options
  }

  /// Creates a prompt from a request that has everything.
  init(_ request: InferenceRequest) { self.request = request }

  /// Creates a prompt from its text.
  init(text: String, maxTokens: Int?, _ options: GenerationOptions) {
    request = InferenceRequest(prompt: text, maxTokens: maxTokens)
    request.details.options = options
  }
}

/// A reply whose first part has arrived.
struct StartedReply: Sendable {
  let live: LiveReply
  /// The first part; `nil` for an empty reply.
  let first: ReplyPart?
}

/// The operations that all routes share: reading a body within its limits, and running one prompt.
struct PromptRunner: Sendable {
  let service: any InferenceService
  let configuration: HTTPAPI.Configuration

  /// Decodes the body of a request.
  /// - Throws: ``APIError`` 400 (not JSON, wrong types), 408 or 413.
  func decode<Fields: Decodable & Sendable>(
    _ type: Fields.Type, from request: Request
  ) async throws -> RequestBody<Fields> {
    try RequestBody(Array(try await body(of: request).readableBytesView))
  }

  /// Sends one prompt and waits for the whole reply; a client that disconnects cancels it, as a stop sequence does.
  /// - Throws: ``APIError``, or `CancellationError` when the server stops.
  func run(_ prompt: Prompt, for context: APIContext) async throws -> LiveReply {
    try await context.whileClientListens {
      var live = LiveReply(prompt, Generation { onPart in try await generate(prompt, onPart) })
      while try await live.next() != nil {}
      return live
    }
  }

  /// Sends one prompt and responds with its text as it arrives; a client that disconnects cancels it.
  ///
  /// The response starts with the first piece, or with the whole reply of a phone that sends no pieces. An earlier failure
  /// has a status of its own.
  /// - Throws: ``APIError``, or `CancellationError` when the server stops.
  func stream(_ prompt: Prompt, for context: APIContext, as format: StreamFormat) async throws -> Response {
    let started = try await start(prompt, for: context, withProgress: format.progress != nil)
    return format.response(started.live, first: started.first)
  }

  /// Sends one prompt and waits for the first part of its reply; a client that disconnects cancels it.
  /// - Parameter withProgress: A Boolean value that indicates whether the place in the queue is such a part.
  /// - Throws: ``APIError``, or `CancellationError` when the server stops.
  func start(
    _ prompt: Prompt, for context: APIContext, withProgress: Bool = false
  ) async throws -> StartedReply {
    let generation = Generation { onPart in try await generate(prompt, onPart) }
    try await context.departure()?.whenComplete { [weak generation] _ in generation?.abandon() }
    var live = LiveReply(prompt, generation, withProgress: withProgress)
    let first = try await live.next()
    return StartedReply(live: live, first: first)
  }

  private func generate(
    _ prompt: Prompt, _ onPart: @Sendable @escaping (ReplyPart) async -> Void
  ) async throws -> InferenceReply {
    let limit = configuration.replyTimeout
    let limits = ProgressLimits(first: limit, pause: limit, total: configuration.streamTimeout)
    let time = TimeSource.continuous
    let started = time.now
    do {
      return try await time.withLimits(limits, orThrow: { APIError.tooLate(after: time.now - started, limits) }) {
        [service] step in
        try await service.generate(prompt.request) { part in
          step()
          await onPart(part)
          step()
        }
      }
    } catch let error as InferenceError {
      throw APIError(error)
    }
  }

  private func body(of request: Request) async throws -> ByteBuffer {
    // It is there: ``RequestGate`` has received it.
    try await request.body.collect(upTo: configuration.bodyLimit)
  }
}
