/// A reader of the fields of a value, the least significant byte of each first; its errors name the value.
///
/// A ``CharacteristicValue`` is read with it:
///
/// ```swift
/// func pressure(_ reader: inout ByteReader) throws(ProfileError) -> (pascals: UInt32, trend: PressureTrend) {
///   (try reader.integer(), try reader.assigned("trend"))
/// }
/// ```
public struct ByteReader: Sendable {
  private let what: String
  private let total: Int
  /// The bytes that are not read yet.
  public private(set) var rest: ArraySlice<UInt8>

  init(_ bytes: some Collection<UInt8>, _ what: String) {
    self.what = what
    total = bytes.count
    rest = Array(bytes)[...]
  }

  /// Reads a number of bytes.
  /// - Throws: ``ProfileError`` with the code `.tooShort`.
  public mutating func bytes(_ count: Int) throws(ProfileError) -> [UInt8] {
    guard rest.count >= count else {
      throw ProfileError(.tooShort, "\(what): \(total) bytes are too few")
    }
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  /// Reads an integer of the width of its type.
  /// - Throws: ``ProfileError`` with the code `.tooShort`.
  public mutating func integer<Number: FixedWidthInteger>(_: Number.Type = Number.self) throws(ProfileError) -> Number {
    try bytes(Number.bitWidth / 8).reversed().reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
  }

  /// Reads an integer of one to four bytes.
  /// - Throws: ``ProfileError`` with the code `.tooShort`.
  public mutating func integer(bytes count: Int, signed: Bool) throws(ProfileError) -> Int {
    let unsigned = try bytes(count).reversed().reduce(0) { $0 << 8 | Int($1) }
    let sign = 1 << (8 * count - 1)
    return signed && unsigned & sign != 0 ? unsigned - 2 * sign : unsigned
  }

  /// Reads a byte whose values are assigned.
  /// - Parameters:
  ///   - field: The name of the field, for the error.
  ///   - type: The type of the assigned values.
  /// - Throws: ``ProfileError`` with the code `.tooShort`, or `.invalidField` for a value that is not assigned.
  public mutating func assigned<Field: RawRepresentable<UInt8>>(_ field: String, _ type: Field.Type = Field.self)
    throws(ProfileError) -> Field
  {
    let value = try integer(UInt8.self)
    guard let assigned = Field(rawValue: value) else {
      throw .invalidField("\(what): \(value) is no \(field)")
    }
    return assigned
  }

  /// Reads an unsigned integer that has a range.
  /// - Parameters:
  ///   - field: The name of the field, for the error.
  ///   - range: The allowed values.
  /// - Throws: ``ProfileError`` with the code `.tooShort`, or `.invalidField` for a value outside the range.
  public mutating func integer<Number: FixedWidthInteger & UnsignedInteger>(
    _ field: String, _ range: ClosedRange<Number>
  )
    throws(ProfileError) -> Number
  {
    let value = try integer(Number.self)
    guard range.contains(value) else {
      throw .invalidField("\(what): the \(field) \(value) is not in \(range.lowerBound)–\(range.upperBound)")
    }
    return value
  }

  func end() throws(ProfileError) {
    guard rest.isEmpty else { throw ProfileError(.tooLong, "\(what): \(rest.count) of \(total) bytes are left over") }
  }
}

extension FixedWidthInteger {
  /// The bytes of the integer, the least significant one first.
  var littleEndianBytes: [UInt8] { integerBytes(Self.bitWidth / 8) }

  /// The lowest bytes of the integer, the least significant one first.
  func integerBytes(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: self >> (8 * $0)) }
  }
}
