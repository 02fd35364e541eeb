import Foundation
import JSONValues

extension JSONValue {
  /// Creates a string, or null for none.
  init(_ value: String?) { self = value.map { .string($0) } ?? .null }
  /// Creates a number, or null for none.
  init(_ value: Int?) { self = value.map { .number($0) } ?? .null }
  /// Creates a number, or null for none and for one that is not finite.
  init(_ value: Double?) { self = value.map { .number($0) } ?? .null }

  /// The value on one line, with sorted keys, and without characters that control a terminal: they are escaped.
  var line: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      return String(decoding: try encoder.encode(self), as: UTF8.self).escapingControls
    } catch {
      // An encoder of JSON takes every case of the value.
      return "null"
    }
  }
}
