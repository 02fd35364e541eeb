import EdgeCoder
import EdgeCoderHTTP
import Foundation
import HummingbirdTesting
import NIOCore
import Testing

/// The JSON object in some bytes.
func jsonObject(_ data: some Sequence<UInt8>) throws -> [String: Any] {
  try #require(try JSONSerialization.jsonObject(with: Data(data)) as? [String: Any])
}

extension TestResponse {
  var text: String { String(buffer: body) }

  func json() throws -> [String: Any] { try jsonObject(body.readableBytesView) }

  /// The objects of an NDJSON stream.
  func jsonLines() throws -> [[String: Any]] {
    try text.split(separator: "\n").map { try jsonObject($0.utf8) }
  }

  /// The data of each server-sent event.
  func events() -> [String] {
    text.components(separatedBy: "\n\n").filter { !$0.isEmpty }.map { String($0.dropFirst("data: ".count)) }
  }
}

extension ByteBuffer {
  init(json: String) { self.init(string: json) }
}

/// All the text of a stream.
func collect(_ stream: AsyncThrowingStream<EngineOutput, any Error>) async throws -> [String] {
  var pieces: [String] = []
  for try await output in stream { if let text = output.text { pieces.append(text) } }
  return pieces
}

/// The end of a stream, as the engine reports it.
func completion(of stream: AsyncThrowingStream<EngineOutput, any Error>) async throws -> Completion? {
  for try await output in stream { if case .end(let completion) = output { return completion } }
  return nil
}

extension EngineLimits {
  /// For tests of something other than time: a busy host may take longer than a user would wait.
  static let patient = EngineLimits(connect: .seconds(20), state: .seconds(20))
}
