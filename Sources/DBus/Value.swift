public import Streams

/// One value of any D-Bus type.
///
/// Two types that BlueZ uses everywhere have fast cases of their own: `ay` is ``bytes(_:)``, and `a{sv}` is
/// ``properties(_:)`` without the variants.
///
/// ```swift
/// let value = Value.properties(["Name": "EdgeBlue", "Powered": true, "Class": .uint32(0x100)])
/// print(value.signature, value.properties?["Name"]?.string ?? "")  // a{sv} EdgeBlue
/// ```
public enum Value: Sendable, Hashable {
  /// An unsigned 8-bit integer, type `y`.
  case byte(UInt8)
  /// A Boolean value, D-Bus type `b`.
  case bool(Bool)
  /// A signed 16-bit integer, type `n`.
  case int16(Int16)
  /// An unsigned 16-bit integer, type `q`.
  case uint16(UInt16)
  /// A signed 32-bit integer, type `i`.
  case int32(Int32)
  /// An unsigned 32-bit integer, type `u`.
  case uint32(UInt32)
  /// A signed 64-bit integer, type `x`.
  case int64(Int64)
  /// An unsigned 64-bit integer, type `t`.
  case uint64(UInt64)
  /// A double-precision floating-point number, type `d`.
  case double(Double)
  /// A string, D-Bus type `s`; one with a NUL cannot be sent.
  case string(String)
  /// An object path, D-Bus type `o`.
  case objectPath(ObjectPath)
  /// A type signature, D-Bus type `g`.
  case signature(Signature)
  /// A file descriptor, D-Bus type `h`; sending duplicates it, receiving yields an owned one.
  case fileDescriptor(FileDescriptor)
  /// An array of bytes, type `ay`.
  case bytes([UInt8])
  /// A dictionary of variants by string, type `a{sv}`; each value is the one inside its variant.
  case properties([String: Value])
  /// Any other array, with its element type, which an empty array needs.
  case array(of: Signature, [Value])
  /// Any other dictionary; `of` is the type of the key and of the value, for example `oa{sa{sv}}`.
  case dictionary(of: Signature, [Entry])
  /// A structure with at least one member, type `(…)`.
  case structure([Value])
  /// A value with its type, D-Bus type `v`.
  indirect case variant(Value)

  /// An entry of a ``Value/dictionary(of:_:)`` value.
  public struct Entry: Sendable, Hashable {
    /// The key, which has a basic type.
    public var key: Value
    /// The value that belongs to the key.
    public var value: Value

    /// Creates an entry from a key and a value.
    public init(_ key: Value, _ value: Value) {
      self.key = key
      self.value = value
    }
  }

  /// The D-Bus type of the value.
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
