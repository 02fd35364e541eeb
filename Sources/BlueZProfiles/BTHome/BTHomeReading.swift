/// A measurement, a state or an event in a BTHome advertisement.
///
/// ```swift
/// let readings = [try BTHomeReading(21.37, of: .temperature), .state(.openWindow, true), .button(.press)]
/// print(readings.compactMap(\.value))  // [21.37]
/// ```
public enum BTHomeReading: Sendable, Hashable {
  /// A number, in steps of its resolution; ``value`` has it in its unit.
  case number(BTHomeNumber, steps: Int)
  /// A state with two values.
  case state(BTHomeState, Bool)
  /// An event of a button.
  case button(BTHomeButtonEvent)
  /// A turn of a dimmer by so many steps, negative to the left; 0 for no event. At most 255 steps.
  case dimmer(Int)
  /// A text of at most 255 bytes.
  case text(String)
  /// Bytes without a meaning of their own, at most 255.
  case raw([UInt8])
  /// The number of the packet, which tells a repeated packet from a new one.
  case packet(UInt8)

  /// Creates a number from one in its unit, which is rounded to the nearest step.
  /// - Throws: ``ProfileError`` with the code `.invalidArgument` outside the range of the number.
  public init(_ value: Double, of number: BTHomeNumber) throws(ProfileError) {
    guard let steps = number.steps(value) else {
      let range = "\(number.value(number.range.lowerBound)) to \(number.value(number.range.upperBound)) \(number.unit)"
      throw ProfileError(.invalidArgument, "BTHome \(number.property): \(value) is not in the range \(range)")
    }
    self = .number(number, steps: steps)
  }

  /// The number in its unit; `nil` for other readings.
  public var value: Double? {
    guard case .number(let number, let steps) = self else { return nil }
    return number.value(steps)
  }

  /// The object ID of the reading.
  public var id: UInt8 {
    switch self {
    case .number(let number, _): number.id
    case .state(let state, _): state.rawValue
    case .button: ID.button
    case .dimmer: ID.dimmer
    case .text: ID.text
    case .raw: ID.raw
    case .packet: ID.packet
    }
  }

  private enum ID {
    static let packet: UInt8 = 0x00
    static let button: UInt8 = 0x3a
    static let dimmer: UInt8 = 0x3c
    static let text: UInt8 = 0x53
    static let raw: UInt8 = 0x54
  }

  /// Reads the next object; returns `nil`, and reads nothing, when its ID is not known.
  static func next(_ reader: inout ByteReader) throws(ProfileError) -> BTHomeReading? {
    var copy = reader
    let id = try copy.integer(UInt8.self)
    guard let reading = try known(id, &copy) else { return nil }
    reader = copy
    return reading
  }

  private static func known(_ id: UInt8, _ reader: inout ByteReader) throws(ProfileError) -> BTHomeReading? {
    if let number = BTHomeNumber(id: id) {
      return .number(number, steps: try reader.integer(bytes: number.byteCount, signed: number.isSigned))
    }
    if let state = BTHomeState(rawValue: id) {
      let value = try reader.integer("state", 0...1) as UInt8
      return .state(state, value == 1)
    }
    switch id {
    case ID.packet: return .packet(try reader.integer())
    case ID.button: return .button(try reader.assigned("event of a button"))
    case ID.dimmer: return .dimmer(try turn(&reader))
    case ID.text:
      let count = Int(try reader.integer(UInt8.self))
      guard let text = String(validating: try reader.bytes(count), as: UTF8.self) else {
        throw .invalidField("BTHome: a text is not UTF-8")
      }
      return .text(text)
    case ID.raw:
      let count = Int(try reader.integer(UInt8.self))
      return .raw(try reader.bytes(count))
    default: return nil
    }
  }

  private static func turn(_ reader: inout ByteReader) throws(ProfileError) -> Int {
    let direction = try reader.integer("event of a dimmer", 0...2) as UInt8
    let steps = Int(try reader.integer(UInt8.self))
    return direction == 0 ? 0 : direction == 1 ? -steps : steps
  }

  /// The object with its ID.
  /// - Throws: ``ProfileError`` with the code `.invalidArgument` for what no object can hold.
  func bytes() throws(ProfileError) -> [UInt8] {
    switch self {
    case .number(let number, let steps):
      guard number.range.contains(steps) else {
        throw ProfileError(.invalidArgument, "BTHome \(number.property): \(steps) steps are outside the range")
      }
      return [id] + steps.integerBytes(number.byteCount)
    case .state(_, let value): return [id, value ? 1 : 0]
    case .button(let event): return [id, event.rawValue]
    case .dimmer(let steps):
      guard -255...255 ~= steps else {
        throw ProfileError(.invalidArgument, "BTHome dimmer: \(steps) steps are more than 255")
      }
      return [id, steps == 0 ? 0 : steps < 0 ? 1 : 2, UInt8(abs(steps))]
    case .text(let text): return try Self.counted(id, Array(text.utf8))
    case .raw(let bytes): return try Self.counted(id, bytes)
    case .packet(let number): return [id, number]
    }
  }

  private static func counted(_ id: UInt8, _ bytes: [UInt8]) throws(ProfileError) -> [UInt8] {
    guard let count = UInt8(exactly: bytes.count) else {
      throw ProfileError(.invalidArgument, "BTHome: an object has at most 255 bytes, not \(bytes.count)")
    }
    return [id, count] + bytes
  }
}
