/// The path of an object on the bus, known to be well-formed.
public struct ObjectPath: Sendable, Hashable, Comparable, CustomStringConvertible, ExpressibleByStringLiteral {
  /// The path as text, for example `/org/bluez/hci0`.
  public let description: String

  /// The root, `/`.
  public static let root = ObjectPath(validated: "/")

  /// Checks and takes a path.
  /// - Throws: ``DBusError`` with code `.invalidArgument` when the text is not an object path: it must begin with `/`,
  ///   and every element must be one or more of `[A-Za-z0-9_]`.
  public init(_ text: String) throws(DBusError) {
    guard Self.isValid(text) else {
      throw DBusError(.invalidArgument, "'\(text)' is not an object path")
    }
    description = text
  }

  /// A path written in the program. A malformed literal is a fault of the program and stops it.
  public init(stringLiteral text: String) {
    precondition(Self.isValid(text), "'\(text)' is not an object path")
    description = text
  }

  /// For text that libdbus has already validated.
  init(validated text: String) { description = text }

  /// The path one element further down.
  /// - Throws: ``DBusError`` when the element is empty or has a character outside `[A-Za-z0-9_]`.
  public func appending(_ element: String) throws(DBusError) -> ObjectPath {
    try ObjectPath(self == .root ? "/" + element : description + "/" + element)
  }

  /// The last element; empty for the root.
  public var lastElement: Substring {
    description.lastIndex(of: "/").map { description[description.index(after: $0)...] } ?? ""
  }

  /// Whether this path is `ancestor` or lies below it.
  public func isWithin(_ ancestor: ObjectPath) -> Bool {
    if ancestor == .root || self == ancestor { return true }
    let prefix = ancestor.description.utf8
    let path = description.utf8
    return path.count > prefix.count && path.starts(with: prefix)
      && path[path.index(path.startIndex, offsetBy: prefix.count)] == UInt8(ascii: "/")
  }

  /// Orders by text.
  public static func < (a: ObjectPath, b: ObjectPath) -> Bool { a.description < b.description }

  private static func isValid(_ text: String) -> Bool {
    if text == "/" { return true }
    var previous: UInt8 = 0
    var first = true
    for byte in text.utf8 {
      let slash = byte == UInt8(ascii: "/")
      if first {
        guard slash else { return false }
      } else if slash {
        guard previous != UInt8(ascii: "/") else { return false }
      } else {
        guard byte.isNameCharacter else { return false }
      }
      previous = byte
      first = false
    }
    return !first && previous != UInt8(ascii: "/")
  }
}

extension UInt8 {
  /// `[A-Za-z0-9_]`
  var isNameCharacter: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
