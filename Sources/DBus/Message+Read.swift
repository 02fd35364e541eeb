internal import CDBus
internal import Streams

/// Reads the body of a libdbus message into ``Value``s. libdbus has validated the message; depth and lengths are
/// within the specification's limits.
struct MessageReader {
  static func values(of message: OpaquePointer) -> [Value] {
    var iterator = DBusMessageIter()
    guard dbus_message_iter_init(message, &iterator) != 0 else { return [] }
    var values: [Value] = []
    repeat { values.append(value(&iterator)) } while dbus_message_iter_next(&iterator) != 0
    return values
  }

  private static func value(_ at: inout DBusMessageIter) -> Value {
    let type = UInt8(truncatingIfNeeded: dbus_message_iter_get_arg_type(&at))
    switch type {
    case UInt8(ascii: "y"): return .byte(basic(&at, 0))
    case UInt8(ascii: "b"): return .bool(basic(&at, dbus_bool_t(0)) != 0)
    case UInt8(ascii: "n"): return .int16(basic(&at, 0))
    case UInt8(ascii: "q"): return .uint16(basic(&at, 0))
    case UInt8(ascii: "i"): return .int32(basic(&at, 0))
    case UInt8(ascii: "u"): return .uint32(basic(&at, 0))
    case UInt8(ascii: "x"): return .int64(basic(&at, 0))
    case UInt8(ascii: "t"): return .uint64(basic(&at, 0))
    case UInt8(ascii: "d"): return .double(basic(&at, 0))
    case UInt8(ascii: "s"): return .string(text(&at))
    case UInt8(ascii: "o"): return .objectPath(ObjectPath(validated: text(&at)))
    case UInt8(ascii: "g"): return .signature(Signature(validated: text(&at)))
    case UInt8(ascii: "h"): return .fileDescriptor(FileDescriptor(owning: basic(&at, -1)))
    case UInt8(ascii: "v"):
      var inner = DBusMessageIter()
      dbus_message_iter_recurse(&at, &inner)
      return .variant(value(&inner))
    case UInt8(ascii: "r"):
      var inner = DBusMessageIter()
      dbus_message_iter_recurse(&at, &inner)
      return .structure(rest(&inner))
    default: return array(&at)
    }
  }

  private static func array(_ at: inout DBusMessageIter) -> Value {
    var inner = DBusMessageIter()
    let element = dbus_message_iter_get_element_type(&at)
    dbus_message_iter_recurse(&at, &inner)
    switch UInt8(truncatingIfNeeded: element) {
    case UInt8(ascii: "y"):
      var base: UnsafePointer<UInt8>?
      var count: Int32 = 0
      dbus_message_iter_get_fixed_array(&inner, &base, &count)
      return .bytes(Array(UnsafeBufferPointer(start: base, count: Int(count))))
    case UInt8(ascii: "e"):
      return dictionary(&inner)
    default:
      let type = Signature(validated: signature(&inner))
      return .array(of: type, rest(&inner))
    }
  }

  private static func dictionary(_ at: inout DBusMessageIter) -> Value {
    let type = signature(&at)
    var entry = DBusMessageIter()
    if type == "{sv}" {
      var properties: [String: Value] = [:]
      while dbus_message_iter_get_arg_type(&at) != 0 {
        dbus_message_iter_recurse(&at, &entry)
        let key = text(&entry)
        dbus_message_iter_next(&entry)
        var variant = DBusMessageIter()
        dbus_message_iter_recurse(&entry, &variant)
        properties[key] = value(&variant)
        dbus_message_iter_next(&at)
      }
      return .properties(properties)
    }
    var entries: [Value.Entry] = []
    while dbus_message_iter_get_arg_type(&at) != 0 {
      dbus_message_iter_recurse(&at, &entry)
      let key = value(&entry)
      dbus_message_iter_next(&entry)
      entries.append(Value.Entry(key, value(&entry)))
      dbus_message_iter_next(&at)
    }
    return .dictionary(of: Signature(validated: String(type.dropFirst().dropLast())), entries)
  }

  private static func rest(_ at: inout DBusMessageIter) -> [Value] {
    var values: [Value] = []
    while dbus_message_iter_get_arg_type(&at) != 0 {
      values.append(value(&at))
      dbus_message_iter_next(&at)
    }
    return values
  }

  private static func basic<T>(_ at: inout DBusMessageIter, _ initial: T) -> T {
    var value = initial
    withUnsafeMutablePointer(to: &value) { dbus_message_iter_get_basic(&at, $0) }
    return value
  }

  private static func text(_ at: inout DBusMessageIter) -> String {
    var text: UnsafePointer<CChar>?
    withUnsafeMutablePointer(to: &text) { dbus_message_iter_get_basic(&at, $0) }
    return text.map { String(cString: $0) } ?? ""
  }

  private static func signature(_ at: inout DBusMessageIter) -> String {
    // Allocated by libdbus; `nil` only when it is out of memory, and then the program is beyond help.
    guard let text = dbus_message_iter_get_signature(&at) else { return "" }
    defer { dbus_free(text) }
    return String(cString: text)
  }
}
