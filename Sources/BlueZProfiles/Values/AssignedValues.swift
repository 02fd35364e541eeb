extension CharacteristicValue where Self: RawRepresentable, RawValue == UInt8 {
  /// Creates a value from its byte.
  /// - Throws: ``ProfileError`` with the code `.tooShort`, `.tooLong`, or `.invalidField` for a reserved value.
  public init(bytes: [UInt8]) throws(ProfileError) {
    var reader = ByteReader(bytes, Self.name)
    let value = try reader.assigned("known value", Self.self)
    try reader.end()
    self = value
  }

  /// The byte of the value, to be sent.
  public var bytes: [UInt8] { [rawValue] }
}

extension CharacteristicValue where Self: OptionSet, RawValue == UInt16 {
  /// Creates a set from its two bytes; bits that are reserved for the future are kept.
  /// - Throws: ``ProfileError`` with the code `.tooShort` or `.tooLong`.
  public init(bytes: [UInt8]) throws(ProfileError) {
    var reader = ByteReader(bytes, Self.name)
    let value = try reader.integer(UInt16.self)
    try reader.end()
    self.init(rawValue: value)
  }

  /// The bytes of the value, to be sent.
  public var bytes: [UInt8] { rawValue.littleEndianBytes }
}
