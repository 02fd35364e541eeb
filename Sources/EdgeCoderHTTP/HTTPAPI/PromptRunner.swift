internal import DBus
internal import EdgeCoder
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

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
  func run(prompt: String, maxTokens: Int?, for context: APIContext) async throws -> InferenceReply {
    let limit = configuration.replyTime
    do {
      return try await context.whileClientListens { [service] in
        try await withLimit(limit, late: APIError.tooLate(limit)) {
          try await service.generate(prompt: prompt, maxTokens: maxTokens)
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
      return try await withLimit(configuration.bodyTime, late: late) {
        try await request.body.collect(upTo: limit)
      }
    } catch is NIOTooManyBytesError {
      throw tooLarge
    }
  }
}

/// Runs `operation`, and cancels it when it takes longer than `limit`.
func withLimit<Value: Sendable>(
  _ limit: Duration, late: @autoclosure @escaping @Sendable () -> any Error,
  _ operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  try await withThrowingTaskGroup(of: Value.self) { group in
    group.addTask(operation: operation)
    group.addTask {
      try await Task.sleep(for: limit, clock: .steady)
      throw late()
    }
    defer { group.cancelAll() }
    guard let value = try await group.next() else { throw CancellationError() }
    return value
  }
}
