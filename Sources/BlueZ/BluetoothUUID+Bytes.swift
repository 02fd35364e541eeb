extension BluetoothUUID {
  /// The 16 bytes of a UUID, the most significant byte first: the type `uuid_t` of Foundation.
  public typealias Bytes = (
    UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8
  )

  /// Creates a UUID from the 16 bytes of another type, such as Foundation's `UUID`.
  ///
  /// ```swift
  /// let service = BluetoothUUID(uuid: UUID().uuid)
  /// print(UUID(uuid: service.uuid).uuidString.lowercased() == service.description)  // true
  /// ```
  public init(uuid: Bytes) {
    let words = withUnsafeBytes(of: uuid) { bytes in
      [0, 8].map { UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: $0, as: UInt64.self)) }
    }
    self.init(high: words[0], low: words[1])
  }

  /// The 16 bytes, the most significant one first, for another type, such as Foundation's `UUID`.
  public var uuid: Bytes {
    withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { $0.loadUnaligned(as: Bytes.self) }
  }

  /// Creates a UUID from bytes as they are sent over the air: 2, 4 or 16, the least significant byte first.
  /// - Returns: `nil` for any other number of bytes.
  public init?(littleEndian bytes: some Collection<UInt8>) {
    let reversed = Array(bytes.reversed())
    func word(_ range: Range<Int>) -> UInt64 { reversed[range].reduce(0) { $0 << 8 | UInt64($1) } }
    switch reversed.count {
    case 2, 4: self.init(short: UInt32(word(0..<reversed.count)))
    case 16: self.init(high: word(0..<8), low: word(8..<16))
    default: return nil
    }
  }

  /// The bytes as they are sent over the air: the least significant byte first, in the shortest form.
  ///
  /// ```swift
  /// print(("180f" as BluetoothUUID).littleEndian)  // [15, 24]
  /// ```
  public var littleEndian: [UInt8] {
    let all = [low, high].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
    return advertisedSize == 16 ? all : Array(all[12..<(12 + advertisedSize)])
  }
}

extension BluetoothUUID: Codable {
  /// Creates a UUID from a text in any of its forms.
  /// - Throws: `DecodingError` for any other text.
  public init(from decoder: any Decoder) throws {
    self = try decoder.text(of: "a Bluetooth UUID")
  }

  /// Encodes the 36-character form as a text.
  public func encode(to encoder: any Encoder) throws { try description.encode(to: encoder) }
}
