import Foundation

/// A JSON value that a command prints.
enum JSON: Sendable, Hashable, Encodable, ExpressibleByStringLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByIntegerLiteral
{
  case null
  case bool(Bool)
  case number(Int)
  /// A finite number; JSON has no others.
  case decimal(Double)
  case string(String)
  case list([JSON])
  case object([String: JSON])

  init(stringLiteral value: String) { self = .string(value) }
  init(booleanLiteral value: Bool) { self = .bool(value) }
  init(integerLiteral value: Int) { self = .number(value) }

  init(_ value: String?) { self = value.map { .string($0) } ?? .null }
  init(_ value: Int?) { self = value.map { .number($0) } ?? .null }
  /// Creates a decimal number, or null for none and for one that is not finite.
  init(_ value: Double?) { self = value.flatMap { $0.isFinite ? .decimal($0) : nil } ?? .null }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .decimal(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .list(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }

  /// The value on one line, with sorted keys, and without characters that control a terminal: they are escaped.
  var text: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      return String(decoding: try encoder.encode(self), as: UTF8.self).escapingControls
    } catch {
      // JSON can represent every case above, except numbers that are not finite.
      return "null"
    }
  }
}
