/// How a device stores what it hears while nobody listens.
public enum StoredFormat: String, Sendable, Hashable, Codable, CaseIterable {
  /// One file that grows until it is deleted: blocks of 440 bytes, and no time. Omi DevKit, and Omi before 3.0.17.
  case file
  /// A ring of records with a number and a time each. Omi from 3.0.20 on.
  case ring

  /// The bytes of a record: in a ring a time stands before the block.
  var recordLength: Int { StoredRecord.blockLength + (self == .ring ? StoredRecord.stampLength : 0) }
}

/// A record of what a device has stored, taken apart.
struct StoredRecord {
  /// When it was stored, in whole seconds.
  enum Stamp: Hashable {
    /// Since 1970, by the device's clock.
    case unix(Int)
    /// Since the device was switched on: nobody had told it the time.
    case uptime(Int)
  }

  /// The bytes of its frames, and of their lengths.
  static let blockLength = 440
  static let stampLength = 4
  /// September 2020: no device of the family is older. What says less than this was never told the time.
  private static let earliest = 1_600_000_000

  var stamp: Stamp?
  var frames: [ArraySlice<UInt8>]

  /// Takes a record of the right length apart; whatever is in it, it has frames or none.
  init(_ bytes: ArraySlice<UInt8>, _ format: StoredFormat) {
    guard format == .ring else {
      self.frames = Self.frames(in: bytes)
      return
    }
    let seconds = Int(bytes.bigEndian(0, StoredRecord.stampLength))
    let isUptime = seconds & 0x8000_0000 != 0 || seconds < Self.earliest
    stamp = isUptime ? .uptime(seconds & 0x7fff_ffff) : .unix(seconds)
    frames = Self.frames(in: bytes.dropFirst(StoredRecord.stampLength))
  }

  /// Each frame stands behind a byte with its length, and zeros behind the last.
  ///
  /// A frame that would reach the end of the block is none: firmware puts it into the next block, and leaves its length
  /// here, and behind it whatever was there before.
  private static func frames(in block: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
    var frames: [ArraySlice<UInt8>] = []
    var rest = block
    while let length = rest.popFirst().map(Int.init) {
      guard length > 0 else { continue }
      guard length < rest.count else { break }
      frames.append(rest.prefix(length))
      rest = rest.dropFirst(length)
    }
    return frames
  }
}

extension ArraySlice<UInt8> {
  /// The number in so many of its bytes, the most significant first. Bytes that are not there count as none.
  func bigEndian(_ offset: Int, _ count: Int) -> UInt64 {
    dropFirst(offset).prefix(count).reduce(0) { $0 << 8 | UInt64($1) }
  }
}

extension FixedWidthInteger {
  /// Its bytes, the most significant first.
  var bigEndianBytes: [UInt8] {
    stride(from: bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> $0) }
  }
}

extension Sequence<UInt8> {
  /// FNV-1a, 64 bits: two different values are taken for one in 1 of 2⁶⁴ cases.
  var fnv1a: UInt64 { reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 } }
}
