/// The well-formed path of an object on the bus.
///
/// ```swift
/// let adapter: ObjectPath = "/org/bluez/hci0"
/// let device = try adapter.appending("dev_00_AA_01_00_00_42")
/// print(device.isWithin(adapter), device.lastElement)  // true dev_00_AA_01_00_00_42
/// ```
public struct ObjectPath: Sendable, Hashable, Comparable, CustomStringConvertible, ExpressibleByStringLiteral {
  /// The path as text, for example `/org/bluez/hci0`.
  public let description: String

  /// The root path, which is `/`.
  public static let root = ObjectPath(validated: "/")

  /// Creates a path from text and validates it.
  /// - Throws: ``DBusError`` with code `.invalidArgument` if the text is not an object path: it begins with `/`, and every
  ///   element is one or more of `[A-Za-z0-9_]`.
  public init(_ text: String) throws(DBusError) {
    guard Self.isValid(text) else {
      throw DBusError(.invalidArgument, "'\(text)' is not an object path")
    }
    description = text
  }

  /// Creates a path from a literal; a malformed literal stops the program.
  public init(stringLiteral text: String) {
    precondition(Self.isValid(text), "'\(text)' is not an object path")
    description = text
  }

  /// Creates a path from text that libdbus has validated.
  init(validated text: String) { description = text }

  /// Returns the path of a child with one more element.
  /// - Throws: ``DBusError`` with code `.invalidArgument` if the element is empty or has a character outside
  ///   `[A-Za-z0-9_]`.
  public func appending(_ element: String) throws(DBusError) -> ObjectPath {
    try ObjectPath(self == .root ? "/" + element : description + "/" + element)
  }

  /// The last element of the path; empty for the root.
  public var lastElement: Substring {
    description.lastIndex(of: "/").map { description[description.index(after: $0)...] } ?? ""
  }

  /// Returns `true` if the path is `ancestor` or lies below it.
  public func isWithin(_ ancestor: ObjectPath) -> Bool {
    if ancestor == .root || self == ancestor { return true }
    let prefix = ancestor.description.utf8
    let path = description.utf8
    return path.count > prefix.count && path.starts(with: prefix)
      && path[path.index(path.startIndex, offsetBy: prefix.count)] == UInt8(ascii: "/")
  }

  /// Returns `true` if the first path precedes the second one as text.
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
