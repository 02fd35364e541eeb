extension CharacteristicValue where Self: RawRepresentable, RawValue == UInt8 {
  /// Creates a value from its byte.
  /// - Throws: ``ProfileError`` with the code `.tooShort`, or `.invalidField` for a reserved value.
  public init(_ reader: inout ByteReader) throws(ProfileError) { self = try reader.assigned("known value") }

  /// The byte of the value, to be sent.
  public var bytes: [UInt8] { [rawValue] }
}

extension CharacteristicValue where Self: OptionSet, RawValue == UInt16 {
  /// Creates a set from its two bytes; bits that are reserved for the future are kept.
  /// - Throws: ``ProfileError`` with the code `.tooShort`.
  public init(_ reader: inout ByteReader) throws(ProfileError) { self.init(rawValue: try reader.integer()) }

  /// The bytes of the value, to be sent.
  public var bytes: [UInt8] { rawValue.littleEndianBytes }
}
