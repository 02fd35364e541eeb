public import Streams

/// One value of any D-Bus type.
///
/// Two shapes that BlueZ uses everywhere have cases of their own, which are also the fast ones: `ay` is ``bytes(_:)``
/// and `a{sv}` is ``properties(_:)`` with the variants already opened.
public enum Value: Sendable, Hashable {
  /// `y`
  case byte(UInt8)
  /// `b`
  case bool(Bool)
  /// `n`
  case int16(Int16)
  /// `q`
  case uint16(UInt16)
  /// `i`
  case int32(Int32)
  /// `u`
  case uint32(UInt32)
  /// `x`
  case int64(Int64)
  /// `t`
  case uint64(UInt64)
  /// `d`
  case double(Double)
  /// `s`; a string with a NUL in it cannot be sent.
  case string(String)
  /// `o`
  case objectPath(ObjectPath)
  /// `g`
  case signature(Signature)
  /// `h`; sending duplicates the descriptor, receiving hands over an owned one.
  case fileDescriptor(FileDescriptor)
  /// `ay`
  case bytes([UInt8])
  /// `a{sv}`; each value is what its variant holds.
  case properties([String: Value])
  /// Any other array, with its element type (which an empty array could not tell).
  case array(of: Signature, [Value])
  /// Any other dictionary; `of` is the key's and the value's type, for example `oa{sa{sv}}`.
  case dictionary(of: Signature, [Entry])
  /// `(…)`; at least one member.
  case structure([Value])
  /// `v`
  indirect case variant(Value)

  /// One entry of a ``Value/dictionary(of:_:)``.
  public struct Entry: Sendable, Hashable {
    /// The key, always of a basic type.
    public var key: Value
    /// The value.
    public var value: Value

    /// Makes an entry.
    public init(_ key: Value, _ value: Value) {
      self.key = key
      self.value = value
    }
  }

  /// The value's type.
  public var signature: Signature { Signature(validated: signatureText) }

  var signatureText: String {
    switch self {
    case .byte: "y"
    case .bool: "b"
    case .int16: "n"
    case .uint16: "q"
    case .int32: "i"
    case .uint32: "u"
    case .int64: "x"
    case .uint64: "t"
    case .double: "d"
    case .string: "s"
    case .objectPath: "o"
    case .signature: "g"
    case .fileDescriptor: "h"
    case .bytes: "ay"
    case .properties: "a{sv}"
    case .array(let element, _): "a" + element.description
    case .dictionary(let types, _): "a{" + types.description + "}"
    case .structure(let members): "(" + members.map(\.signatureText).joined() + ")"
    case .variant: "v"
    }
  }
}
