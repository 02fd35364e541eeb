/// What a device with a ring says on its storage characteristic. Numbers stand there with the most significant byte first.
enum RingMessage: Hashable {
  /// What is in a ring.
  struct Info: Hashable {
    /// The number of the first record that is still there.
    var read: UInt64
    /// The number that the next record will get.
    var write: UInt64
    var recordLength: Int
    /// Which ring it is, where the device says so: another one after the memory was formatted.
    var ring: UInt64?
  }

  /// A command was taken (0) or refused.
  case acknowledged(status: UInt8)
  case info(Info)
  /// Bytes of records, cut anywhere.
  case data(ArraySlice<UInt8>)
  case done(status: UInt8, next: UInt64)
  /// So many records follow, from this number on.
  case begins(start: UInt64, count: Int)
  /// Where in the ring stands what was just sent live; only devices that store that, too, say so.
  case liveMark

  /// No device writes so many records: sums of such numbers fit.
  static let limit: UInt64 = 1 << 48

  /// - Returns: `nil` for what says nothing, or nothing that can be.
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

  /// What a device is told.
  enum Command {
    static let info: [UInt8] = [0x10]
    static let stop: [UInt8] = [0x03]
    static func read(_ start: UInt64, _ count: Int) -> [UInt8] {
      [0x11] + start.bigEndianBytes + UInt32(clamping: count).bigEndianBytes
    }
    /// Frees all records before this one.
    static func advance(_ next: UInt64) -> [UInt8] { [0x12] + next.bigEndianBytes }
  }
}
