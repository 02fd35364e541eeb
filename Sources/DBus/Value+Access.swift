public import Streams

extension Value {
  /// Returns an array of strings, of the D-Bus type `as`.
  public static func strings(_ strings: [String]) -> Value { .array(of: "s", strings.map(Value.string)) }

  /// Returns an array of object paths, of the D-Bus type `ao`.
  public static func objectPaths(_ paths: [ObjectPath]) -> Value { .array(of: "o", paths.map(Value.objectPath)) }

  /// The value inside a variant, through any number of layers; any other value itself.
  public var unwrapped: Value {
    if case .variant(let inner) = self { inner.unwrapped } else { self }
  }

  /// The string of an `s`; `nil` for any other type.
  public var string: String? { if case .string(let value) = unwrapped { value } else { nil } }

  /// The Boolean value of a `b`; `nil` for any other type.
  public var bool: Bool? { if case .bool(let value) = unwrapped { value } else { nil } }

  /// The path of an `o`; `nil` for any other type.
  public var objectPath: ObjectPath? { if case .objectPath(let value) = unwrapped { value } else { nil } }

  /// The bytes of an `ay`; `nil` for any other type.
  public var bytes: [UInt8]? { if case .bytes(let value) = unwrapped { value } else { nil } }

  /// The file descriptor of an `h`; `nil` for any other type.
  public var fileDescriptor: FileDescriptor? { if case .fileDescriptor(let value) = unwrapped { value } else { nil } }

  /// The dictionary of an `a{sv}`; `nil` for any other type.
  public var properties: [String: Value]? { if case .properties(let value) = unwrapped { value } else { nil } }

  /// The elements of an array; `nil` for any other type.
  public var array: [Value]? {
    switch unwrapped {
    case .array(_, let values): values
    case .bytes(let bytes): bytes.map(Value.byte)
    default: nil
    }
  }

  /// The entries of a dictionary; `nil` for any other type.
  public var entries: [Entry]? {
    switch unwrapped {
    case .dictionary(_, let entries): entries
    case .properties(let values): values.map { Entry(.string($0.key), .variant($0.value)) }
    default: nil
    }
  }

  /// The strings of an `as`; `nil` if any element has another type.
  public var strings: [String]? { array.flatMap { all($0, \.string) } }

  /// The paths of an `ao`; `nil` if any element has another type.
  public var objectPaths: [ObjectPath]? { array.flatMap { all($0, \.objectPath) } }

  /// Returns the number of any integer type; `nil` if it does not fit or has another type.
  public func integer<I: FixedWidthInteger>(as type: I.Type = I.self) -> I? {
    switch unwrapped {
    case .byte(let value): I(exactly: value)
    case .int16(let value): I(exactly: value)
    case .uint16(let value): I(exactly: value)
    case .int32(let value): I(exactly: value)
    case .uint32(let value): I(exactly: value)
    case .int64(let value): I(exactly: value)
    case .uint64(let value): I(exactly: value)
    default: nil
    }
  }

  private func all<T>(_ values: [Value], _ pick: (Value) -> T?) -> [T]? {
    let picked = values.compactMap(pick)
    return picked.count == values.count ? picked : nil
  }
}

extension Value: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral {
  /// Creates a string, of the D-Bus type `s`.
  public init(stringLiteral value: String) { self = .string(value) }
  /// Creates a Boolean value, of the D-Bus type `b`.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
}
