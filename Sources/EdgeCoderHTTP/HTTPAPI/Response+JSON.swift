internal import EdgeCoder
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension Response {
  /// A whole JSON document, ended with a line feed so that a terminal shows it well.
  static func json(_ value: some Encodable, status: HTTPResponse.Status = .ok) -> Response {
    do {
      var buffer = ByteBuffer(bytes: try encoder.encode(value))
      buffer.writeInteger(UInt8(ascii: "\n"))
      return Response(
        status: status, headers: [.contentType: "application/json"], body: ResponseBody(byteBuffer: buffer))
    } catch {
      // Nothing we encode holds what JSON cannot say (no NaN, no unknown date format).
      return Response(status: .internalServerError)
    }
  }

  /// One JSON object a line, as Ollama streams.
  static func lines(_ values: [any Encodable & Sendable]) throws -> Response {
    try stream(values.map { try text($0) + "\n" }, contentType: "application/x-ndjson")
  }

  /// Server-sent events ending with `[DONE]`, as OpenAI streams.
  static func events(_ values: [any Encodable & Sendable]) throws -> Response {
    var response = try stream(
      values.map { "data: \(try text($0))\n\n" } + ["data: [DONE]\n\n"], contentType: "text/event-stream")
    response.headers[.cacheControl] = "no-cache"
    return response
  }

  private static func stream(_ pieces: [String], contentType: String) -> Response {
    Response(
      status: .ok, headers: [.contentType: contentType],
      body: ResponseBody { writer in
        for piece in pieces { try await writer.write(ByteBuffer(string: piece)) }
        try await writer.finish(nil)
      })
  }

  private static func text(_ value: any Encodable) throws -> String {
    String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  private static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
    return encoder
  }
}
