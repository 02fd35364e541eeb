/// A message from a device with a ring, on its storage characteristic; numbers are big-endian.
enum RingMessage: Hashable {
  /// The contents of a ring.
  struct Info: Hashable {
    /// The number of the first record that has not been freed.
    var read: UInt64
    /// The number of the next record to be stored.
    var write: UInt64
    var recordLength: Int
    /// The identifier of the ring, if the device reports one; it changes when the memory is formatted.
    var ring: UInt64?
  }

  /// A command was accepted (0) or refused.
  case acknowledged(status: UInt8)
  case info(Info)
  /// Some bytes of records, divided anywhere.
  case data(ArraySlice<UInt8>)
  /// All requested records were sent.
  case done(status: UInt8, next: UInt64)
  /// A number of records follow, from this one on.
  case begins(start: UInt64, count: Int)
  /// The position in the ring of the live audio just sent, from devices that store that, too.
  case liveMark

  /// The largest record number accepted: sums of such numbers do not overflow.
  static let limit: UInt64 = 1 << 48

  /// Parses a notification.
  /// - Returns: `nil` if it is malformed.
  init?(_ value: [UInt8]) {
    let body = value.dropFirst()
    switch value.first {
    case 1? where body.count >= 1: self = .acknowledged(status: body[1])
    case 2? where body.count >= 30:
      let info = Info(
        read: body.bigEndian(0, 8), write: body.bigEndian(8, 8), recordLength: Int(body.bigEndian(28, 2)),
        ring: body.count >= 40 ? body.bigEndian(32, 8) : nil)
      guard info.read <= info.write, info.write <= Self.limit else { return nil }
      self = .info(info)
    case 3? where !body.isEmpty: self = .data(body)
    case 4? where body.count >= 9: self = .done(status: body[1], next: body.bigEndian(1, 8))
    case 5? where body.count >= 12: self = .begins(start: body.bigEndian(0, 8), count: Int(body.bigEndian(8, 4)))
    case 6?: self = .liveMark
    default: return nil
    }
  }

  /// The commands to a device.
  enum Command {
    static let info: [UInt8] = [0x10]
    static let stop: [UInt8] = [0x03]
    static func read(_ start: UInt64, _ count: Int) -> [UInt8] {
      [0x11] + start.bigEndianBytes + UInt32(clamping: count).bigEndianBytes
    }
    /// Returns the command that frees all records before this one.
    static func advance(_ next: UInt64) -> [UInt8] { [0x12] + next.bigEndianBytes }
  }
}
