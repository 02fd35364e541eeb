public import Streams

extension Value {
  /// An array of strings, `as`.
  public static func strings(_ strings: [String]) -> Value { .array(of: "s", strings.map(Value.string)) }

  /// An array of object paths, `ao`.
  public static func objectPaths(_ paths: [ObjectPath]) -> Value { .array(of: "o", paths.map(Value.objectPath)) }

  /// What a variant holds, through any number of layers; any other value is itself.
  public var unwrapped: Value {
    if case .variant(let inner) = self { inner.unwrapped } else { self }
  }

  /// The string of an `s`.
  public var string: String? { if case .string(let value) = unwrapped { value } else { nil } }

  /// The truth of a `b`.
  public var bool: Bool? { if case .bool(let value) = unwrapped { value } else { nil } }

  /// The path of an `o`.
  public var objectPath: ObjectPath? { if case .objectPath(let value) = unwrapped { value } else { nil } }

  /// The bytes of an `ay`.
  public var bytes: [UInt8]? { if case .bytes(let value) = unwrapped { value } else { nil } }

  /// The descriptor of an `h`.
  public var fileDescriptor: FileDescriptor? { if case .fileDescriptor(let value) = unwrapped { value } else { nil } }

  /// The dictionary of an `a{sv}`.
  public var properties: [String: Value]? { if case .properties(let value) = unwrapped { value } else { nil } }

  /// The elements of an array.
  public var array: [Value]? {
    switch unwrapped {
    case .array(_, let values): values
    case .bytes(let bytes): bytes.map(Value.byte)
    default: nil
    }
  }

  /// The entries of a dictionary.
  public var entries: [Entry]? {
    switch unwrapped {
    case .dictionary(_, let entries): entries
    case .properties(let values): values.map { Entry(.string($0.key), .variant($0.value)) }
    default: nil
    }
  }

  /// The strings of an `as`; `nil` when any element is none.
  public var strings: [String]? { array.flatMap { all($0, \.string) } }

  /// The paths of an `ao`; `nil` when any element is none.
  public var objectPaths: [ObjectPath]? { array.flatMap { all($0, \.objectPath) } }

  /// The number of any integer type; `nil` when it does not fit or is no integer.
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
  /// An `s`.
  public init(stringLiteral value: String) { self = .string(value) }
  /// A `b`.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
}
