internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

extension Response {
  /// Returns a JSON document with a final line feed, for terminals.
  static func json(_ value: some Encodable, status: HTTPResponse.Status = .ok) -> Response {
    do {
      var buffer = ByteBuffer(bytes: try encoded(value))
      buffer.writeInteger(UInt8(ascii: "\n"))
      return Response(
        status: status, headers: [.contentType: "application/json"], body: ResponseBody(byteBuffer: buffer))
    } catch {
      // Never happens: no encoded type contains a value that JSON cannot represent (NaN, an unknown date format).
      return Response(status: .internalServerError)
    }
  }

  /// Returns the response with a header that names the fields of the request without an effect on the reply, if any.
  func naming(ignored: [String]) -> Response {
    // A name is the client's text; what is no token cannot be in a header.
    let names = ignored.filter { HTTPField.Name($0) != nil && $0.utf8.count <= 64 }
    guard !names.isEmpty else { return self }
    var response = self
    response.headers[.ignored] = names.prefix(64).joined(separator: ", ")
    return response
  }

  /// Returns a value as JSON on one line.
  static func text(_ value: any Encodable) throws -> String {
    String(decoding: try encoded(value), as: UTF8.self)
  }

  /// Returns a value as JSON without the characters that some clients take for the end of a line.
  ///
  /// JSON allows U+0085, U+2028 and U+2029 in a string. Python's `splitlines`, which several clients use to read a stream,
  /// splits there, and they then fail to parse half an object.
  private static func encoded(_ value: any Encodable) throws -> [UInt8] {
    let json = [UInt8](try encoder.encode(value))
    var escaped: [UInt8] = []
    escaped.reserveCapacity(json.count)
    var index = 0
    while index < json.count {
      // Outside ASCII only strings have bytes, so this cannot change the structure.
      if json[index] >= 0x80, let end = lineEnds.first(where: { json[index...].starts(with: $0.bytes) }) {
        escaped += end.escape
        index += end.bytes.count
      } else {
        escaped.append(json[index])
        index += 1
      }
    }
    return escaped
  }

  private static let lineEnds: [(bytes: [UInt8], escape: [UInt8])] = [
    ([0xc2, 0x85], Array(#"\u0085"#.utf8)), ([0xe2, 0x80, 0xa8], Array(#"\u2028"#.utf8)),
    ([0xe2, 0x80, 0xa9], Array(#"\u2029"#.utf8)),
  ]

  private static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
    return encoder
  }
}

extension HTTPField.Name {
  /// The header with the fields of the request that have no effect; the name is a constant token, so it always parses.
  static let ignored = HTTPField.Name("edgecoder-ignored")!
}
