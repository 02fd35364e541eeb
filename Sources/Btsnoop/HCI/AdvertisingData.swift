/// The data of an advertisement: elements with a type (Core Specification Supplement, part A).
///
/// ```swift
/// let data = AdvertisingData([2, 0x01, 6, 3, 0x03, 0x0d, 0x18])
/// print(data.services.map(\.description))  // heart rate
/// ```
public struct AdvertisingData: Sendable, Hashable {
  /// One element of the data.
  public struct Element: Sendable, Hashable {
    /// The type of the element, as the Bluetooth SIG numbers them.
    public var type: UInt8
    /// The content, without its length and type.
    public var bytes: [UInt8]

    /// Creates an element from its fields.
    public init(type: UInt8, bytes: [UInt8]) {
      self.type = type
      self.bytes = bytes
    }
  }

  /// The elements in their order.
  public var elements: [Element]
  /// A Boolean value that indicates whether the data ends within an element, which is left out then.
  public var isTruncated: Bool

  /// Reads the elements from the bytes of a packet. What follows an element of length 0 is padding.
  public init(_ bytes: [UInt8]) {
    var reader = ByteReader(bytes)
    elements = []
    isTruncated = false
    while let length = reader.byte(), length > 0 {
      guard let content = reader.bytes(Int(length)), let type = content.first else {
        isTruncated = true
        return
      }
      elements.append(Element(type: type, bytes: Array(content.dropFirst())))
    }
  }

  /// The bytes of a packet with these elements.
  public var bytes: [UInt8] { elements.flatMap { [UInt8(clamping: $0.bytes.count + 1), $0.type] + $0.bytes } }

  private enum Kind {
    static let shortName: UInt8 = 0x08
    static let name: UInt8 = 0x09
    static let transmitPower: UInt8 = 0x0a
    static let appearance: UInt8 = 0x19
    static let manufacturer: UInt8 = 0xff
  }

  private func first(_ type: UInt8) -> [UInt8]? { elements.first { $0.type == type }?.bytes }

  /// The name of the device, or its beginning; `nil` when it advertises none.
  public var name: String? {
    (first(Kind.name) ?? first(Kind.shortName)).map { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }

  /// The flags; bits 0 and 1 say that it can be discovered for a while, or always.
  public var flags: UInt8? { first(0x01)?.first }

  /// The power of the transmission in dBm.
  public var transmitPower: Int? { first(Kind.transmitPower)?.first.map { Int(Int8(bitPattern: $0)) } }

  /// The appearance, as the Bluetooth SIG numbers them.
  public var appearance: UInt16? {
    var reader = ByteReader(first(Kind.appearance) ?? [])
    return reader.uint16()
  }

  /// The services that the device advertises, in their order.
  public var services: [AttributeUUID] {
    elements.flatMap { element -> [AttributeUUID] in
      guard let size = Self.serviceSizes[element.type] else { return [] }
      return stride(from: 0, through: element.bytes.count - size, by: size).compactMap {
        AttributeUUID(littleEndian: element.bytes[$0..<($0 + size)])
      }
    }
  }

  /// The data of services, in their order.
  public var serviceData: [(service: AttributeUUID, bytes: [UInt8])] {
    elements.compactMap { element in
      guard let size = Self.serviceDataSizes[element.type], element.bytes.count >= size,
        let service = AttributeUUID(littleEndian: element.bytes[..<size])
      else { return nil }
      return (service, Array(element.bytes[size...]))
    }
  }

  /// The data of manufacturers by their company identifiers, in their order.
  public var manufacturerData: [(company: UInt16, bytes: [UInt8])] {
    elements.compactMap { element in
      var reader = ByteReader(element.bytes)
      guard element.type == Kind.manufacturer, let company = reader.uint16() else { return nil }
      return (company, reader.all())
    }
  }

  /// The sizes of the UUIDs in lists of services, incomplete and complete ones.
  private static let serviceSizes: [UInt8: Int] = [0x02: 2, 0x03: 2, 0x04: 4, 0x05: 4, 0x06: 16, 0x07: 16]
  private static let serviceDataSizes: [UInt8: Int] = [0x16: 2, 0x20: 4, 0x21: 16]

  /// A Boolean value for each type that says whether it can say something private: names and any data.
  static func isPayload(_ type: UInt8) -> Bool {
    type == Kind.shortName || type == Kind.name || type == Kind.manufacturer || serviceDataSizes[type] != nil
  }
}
