internal import CDBus
import Glibc

/// Appends ``Value``s to a libdbus message.
///
/// libdbus treats malformed arguments as faults of the program (it prints and may abort), so this type refuses them
/// first.
struct MessageWriter {
  /// The largest number of bytes of one array by the D-Bus specification: 64 MiB.
  static let arrayLimit = 64 << 20
  /// The deepest nesting of containers by the D-Bus specification.
  static let depthLimit = 64

  static func append(_ values: [Value], to message: OpaquePointer) throws(DBusError) {
    var iterator = DBusMessageIter()
    dbus_message_iter_init_append(message, &iterator)
    for value in values { try append(value, &iterator, depth: 0) }
  }

  private static func append(_ value: Value, _ to: inout DBusMessageIter, depth: Int) throws(DBusError) {
    switch value {
    case .byte(let value): try basic("y", value, &to)
    case .bool(let value): try basic("b", dbus_bool_t(value ? 1 : 0), &to)
    case .int16(let value): try basic("n", value, &to)
    case .uint16(let value): try basic("q", value, &to)
    case .int32(let value): try basic("i", value, &to)
    case .uint32(let value): try basic("u", value, &to)
    case .int64(let value): try basic("x", value, &to)
    case .uint64(let value): try basic("t", value, &to)
    case .double(let value): try basic("d", value, &to)
    case .string(let value):
      guard !value.utf8.contains(0) else { throw DBusError(.invalidArgument, "the string contains a NUL") }
      try text("s", value, &to)
    case .objectPath(let value): try text("o", value.description, &to)
    case .signature(let value): try text("g", value.description, &to)
    case .fileDescriptor(let descriptor):
      // libdbus duplicates the descriptor, so the caller keeps its own.
      let sent: Void? = try descriptor.withNumber { number throws(DBusError) in try basic("h", number, &to) }
      guard sent != nil else { throw DBusError(.invalidArgument, "the file descriptor is closed") }
    case .bytes(let bytes): try append(bytes: bytes, &to)
    case .properties, .array, .dictionary, .structure, .variant: try append(container: value, &to, depth)
    }
  }

  private static func append(
    container value: Value, _ to: inout DBusMessageIter, _ depth: Int
  ) throws(DBusError) {
    switch value {
    case .properties(let properties):
      try container("a", "{sv}", &to, depth) { (array: inout DBusMessageIter) throws(DBusError) in
        for (key, value) in properties { try append(.string(key), .variant(value), &array, depth: depth + 1) }
      }
    case .array(let element, let values):
      try checkType(value)
      try container("a", element.description, &to, depth) { (array: inout DBusMessageIter) throws(DBusError) in
        for value in values {
          try check(value, element.description)
          try append(value, &array, depth: depth + 1)
        }
      }
    case .dictionary(let types, let entries):
      try checkType(value)
      try container("a", "{" + types.description + "}", &to, depth) {
        (array: inout DBusMessageIter) throws(DBusError) in
        for entry in entries {
          let found = entry.key.signatureText + entry.value.signatureText
          guard found == types.description else { throw mismatch(found, types.description) }
          try append(entry.key, entry.value, &array, depth: depth + 1)
        }
      }
    case .structure(let members):
      guard !members.isEmpty else {
        throw DBusError(.invalidArgument, "the structure has no members; allowed: 1 or more")
      }
      try container("r", nil, &to, depth) { (structure: inout DBusMessageIter) throws(DBusError) in
        for member in members { try append(member, &structure, depth: depth + 1) }
      }
    case .variant(let inner):
      try checkType(inner)
      try container("v", inner.signatureText, &to, depth) { (variant: inout DBusMessageIter) throws(DBusError) in
        try append(inner, &variant, depth: depth + 1)
      }
    default: preconditionFailure("a basic value is no container")
    }
  }

  private static func append(
    _ key: Value, _ value: Value, _ array: inout DBusMessageIter, depth: Int
  ) throws(DBusError) {
    try container("e", nil, &array, depth) { (entry: inout DBusMessageIter) throws(DBusError) in
      try append(key, &entry, depth: depth + 1)
      try append(value, &entry, depth: depth + 1)
    }
  }

  private static func append(bytes: [UInt8], _ to: inout DBusMessageIter) throws(DBusError) {
    guard bytes.count <= arrayLimit else {
      throw DBusError(.limitExceeded, "the array has \(bytes.count) bytes; allowed: at most \(arrayLimit)")
    }
    try container("a", "y", &to, 0) { (array: inout DBusMessageIter) throws(DBusError) in
      let done = bytes.withUnsafeBufferPointer { buffer in
        guard var base = buffer.baseAddress, !buffer.isEmpty else { return dbus_bool_t(1) }
        return withUnsafePointer(to: &base) {
          dbus_message_iter_append_fixed_array(&array, Int32(UInt8(ascii: "y")), $0, Int32(buffer.count))
        }
      }
      guard done != 0 else { throw outOfMemory }
    }
  }

  private static func container(
    _ type: Unicode.Scalar, _ contents: String?, _ to: inout DBusMessageIter, _ depth: Int,
    _ body: (inout DBusMessageIter) throws(DBusError) -> Void
  ) throws(DBusError) {
    guard depth < depthLimit else {
      throw DBusError(.limitExceeded, "the value is nested deeper than \(depthLimit) containers")
    }
    var inner = DBusMessageIter()
    guard dbus_message_iter_open_container(&to, Int32(type.value), contents, &inner) != 0 else { throw outOfMemory }
    do throws(DBusError) {
      try body(&inner)
    } catch {
      dbus_message_iter_abandon_container(&to, &inner)
      throw error
    }
    guard dbus_message_iter_close_container(&to, &inner) != 0 else { throw outOfMemory }
  }

  private static func basic<T>(_ type: Unicode.Scalar, _ value: T, _ to: inout DBusMessageIter) throws(DBusError) {
    guard withUnsafePointer(to: value, { dbus_message_iter_append_basic(&to, Int32(type.value), $0) }) != 0 else {
      throw outOfMemory
    }
  }

  private static func text(_ type: Unicode.Scalar, _ value: String, _ to: inout DBusMessageIter) throws(DBusError) {
    let done = value.withCString { text in
      withUnsafePointer(to: text) { dbus_message_iter_append_basic(&to, Int32(type.value), $0) }
    }
    guard done != 0 else { throw outOfMemory }
  }

  private static func check(_ value: Value, _ expected: String) throws(DBusError) {
    let found = value.signatureText
    guard found == expected else { throw mismatch(found, expected) }
  }

  /// Refuses containers whose declared element types are not one complete type.
  private static func checkType(_ value: Value) throws(DBusError) {
    switch value {
    case .array, .dictionary, .structure:
      let type = value.signatureText
      guard dbus_signature_validate_single(type, nil) != 0 else {
        throw DBusError(.invalidArgument, "'\(type)' is not a D-Bus type")
      }
    default: break
    }
  }

  private static func mismatch(_ found: String, _ expected: String) -> DBusError {
    DBusError(.invalidArgument, "a container of '\(expected)' contains a value of type '\(found)'")
  }

  private static var outOfMemory: DBusError { DBusError(.limitExceeded, "libdbus ran out of memory") }
}
