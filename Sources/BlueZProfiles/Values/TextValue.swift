/// A text of a device, such as ``ManufacturerName``.
///
/// ```swift
/// print(try ManufacturerName(bytes: Array("ACME\0".utf8)))  // ACME
/// print(try SerialNumber("A-17").bytes.count)  // 4
/// ```
///
/// The text is UTF-8 of at most 512 bytes, the longest value of an attribute. Zero bytes at the end, which many devices
/// send, are left out.
public struct TextValue<Kind: TextKind>: CharacteristicValue, CustomStringConvertible {
  /// The text without zero bytes at its end.
  public let text: String
  private static var longest: Int { 512 }

  /// Creates a value from a text.
  /// - Throws: ``ProfileError`` with the code `.invalidArgument` for a text of more than 512 bytes, or with a zero at its
  ///   end.
  public init(_ text: String) throws(ProfileError) {
    guard text.utf8.count <= Self.longest else {
      throw ProfileError(
        .invalidArgument, "\(Kind.name): the text has \(text.utf8.count) bytes, and at most \(Self.longest) can be sent"
      )
    }
    guard text.utf8.last != 0 else {
      throw ProfileError(.invalidArgument, "\(Kind.name): the text ends with a zero byte")
    }
    self.text = text
  }

  /// The text without zero bytes at its end.
  public var description: String { text }

  /// The 16-bit UUID of the characteristic.
  public static var assignedNumber: UInt16 { Kind.assignedNumber }
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static var name: String { Kind.name }

  /// Creates a value from what was read.
  /// - Throws: ``ProfileError`` with the code `.tooLong`, or `.invalidField` when the bytes are not UTF-8.
  public init(_ reader: inout ByteReader) throws(ProfileError) {
    let bytes = try reader.bytes(reader.rest.count)
    guard bytes.count <= Self.longest else {
      throw ProfileError(.tooLong, "\(Kind.name): \(bytes.count) bytes are more than an attribute can have")
    }
    let content = bytes.prefix((bytes.lastIndex { $0 != 0 } ?? -1) + 1)
    guard let text = String(validating: content, as: UTF8.self) else {
      throw .invalidField("\(Kind.name): the bytes are not UTF-8")
    }
    self.text = text
  }

  /// The bytes of the value, to be sent.
  public var bytes: [UInt8] { Array(text.utf8) }
}

/// The characteristic of a ``TextValue``.
public protocol TextKind: Sendable {
  /// The 16-bit UUID of the characteristic.
  static var assignedNumber: UInt16 { get }
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  static var name: String { get }
}
