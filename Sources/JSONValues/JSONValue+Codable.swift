extension JSONValue: Codable {
  private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// Encodes the value; the encoder chooses the order of members and the digits of numbers.
  public func encode(to encoder: any Encoder) throws {
    switch self {
    case .array(let elements):
      var container = encoder.unkeyedContainer()
      for element in elements { try container.encode(element) }
    case .object(let members):
      var container = encoder.container(keyedBy: Name.self)
      for member in members { try container.encode(member.value, forKey: Name(stringValue: member.name)) }
    default:
      var container = encoder.singleValueContainer()
      switch self {
      case .bool(let value): try container.encode(value)
      case .string(let text): try container.encode(text)
      case .number:
        // JSON has no infinity: a number beyond the largest `Double` is nothing.
        if let integer {
          try container.encode(integer)
        } else if let double {
          try container.encode(double)
        } else {
          try container.encodeNil()
        }
      default: try container.encodeNil()
      }
    }
  }

  /// Decodes a value; the members of objects are then in the order of their names, because a decoder keeps no order.
  public init(from decoder: any Decoder) throws {
    guard decoder.codingPath.count <= Self.depthLimit else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: [], debugDescription: "more than \(Self.depthLimit) levels"))
    }
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .number(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([JSONValue].self) {
      self = .array(value)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }
}
