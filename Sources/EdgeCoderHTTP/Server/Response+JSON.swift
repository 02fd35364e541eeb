internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

extension Response {
  /// Returns a JSON document with a final line feed, for terminals.
  static func json(_ value: some Encodable, status: HTTPResponse.Status = .ok) -> Response {
    do {
      var buffer = ByteBuffer(bytes: try encoder.encode(value))
      buffer.writeInteger(UInt8(ascii: "\n"))
      return Response(
        status: status, headers: [.contentType: "application/json"], body: ResponseBody(byteBuffer: buffer))
    } catch {
      // Never happens: no encoded type contains a value that JSON cannot represent (NaN, an unknown date format).
      return Response(status: .internalServerError)
    }
  }

  /// Returns a value as JSON on one line.
  static func text(_ value: any Encodable) throws -> String {
    String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  private static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
    return encoder
  }
}
