internal import DBus
internal import EdgeCoder
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import Timing

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// What is asked of a phone.
struct Prompt: Sendable {
  var text: String
  var maxTokens: Int?
  /// Where the text is to end; the phone does not know.
  var stops: [String] = []
}

/// What all routes share: read a bounded body, run one prompt under the limits.
struct PromptRunner: Sendable {
  let service: any InferenceService
  let configuration: HTTPAPI.Configuration

  /// The body as `Value`.
  /// - Throws: ``APIError`` 400 (not JSON, wrong types), 408 or 413.
  func decode<Value: Decodable>(_ type: Value.Type, from request: Request) async throws -> Value {
    let body = try await body(of: request)
    do {
      return try JSONDecoder().decode(type, from: Data(body.readableBytesView))
    } catch let error as DecodingError {
      throw APIError(error)
    }
  }

  /// Sends one prompt and waits for the whole reply; a client that goes away cancels it.
  /// - Throws: ``APIError``, or `CancellationError` when the server stops.
  func run(_ prompt: Prompt, for context: APIContext) async throws -> InferenceReply {
    try await context.whileClientListens { try await generate(prompt) { _ in } }
  }

  /// Sends one prompt and answers with its text as it comes; a client that goes away cancels it.
  ///
  /// The answer begins with the first piece, or with the whole reply where a phone sends no pieces: what fails before
  /// has its own status.
  /// - Throws: ``APIError``, or `CancellationError` when the server stops.
  func stream(_ prompt: Prompt, for context: APIContext, as format: StreamFormat) async throws -> Response {
    let generation = Generation { onText in try await generate(prompt, onText) }
    try await context.departure()?.whenComplete { [weak generation] _ in generation?.abandon() }
    var live = LiveReply(prompt, generation)
    let first = try await live.next()
    return format.response(live, first: first)
  }

  private func generate(
    _ prompt: Prompt, _ onText: @Sendable @escaping (String) async -> Void
  ) async throws -> InferenceReply {
    let limit = configuration.replyTime
    let limits = ProgressLimits(first: limit, pause: limit, total: configuration.streamTime)
    let (time, started) = (TimeSource.continuous, TimeSource.continuous.now)
    do {
      return try await time.withLimits(limits, orThrow: { APIError.tooLate(after: time.now - started, limits) }) {
        [service] step in
        try await service.generate(prompt: prompt.text, maxTokens: prompt.maxTokens) { piece in
          step()
          await onText(piece)
          step()
        }
      }
    } catch let error as InferenceError {
      throw APIError(error)
    }
  }

  private func body(of request: Request) async throws -> ByteBuffer {
    let limit = configuration.bodyBytes
    let tooLarge = APIError(.contentTooLarge, "the body is larger than \(limit) bytes", code: "body_too_large")
    if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > limit { throw tooLarge }
    let late = APIError(.requestTimeout, "the body did not arrive in time", code: "body_timeout")
    do {
      return try await TimeSource.continuous.withLimit(configuration.bodyTime, orThrow: late) {
        try await request.body.collect(upTo: limit)
      }
    } catch is NIOTooManyBytesError {
      throw tooLarge
    }
  }
}
