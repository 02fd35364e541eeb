/// The format in which a device stores audio while it is not connected.
public enum StoredFormat: String, Sendable, Hashable, Codable, CaseIterable {
  /// One file that grows until it is deleted: blocks of 440 bytes without a time. Omi DevKit, and Omi before 3.0.17.
  case file
  /// A ring buffer of records with a number and a time each. Omi from 3.0.20 on.
  case ring

  /// The length of a record in bytes: in a ring, a time precedes the block.
  package var recordLength: Int { StoredRecord.blockLength + (self == .ring ? StoredRecord.stampLength : 0) }
}

/// A parsed record of a device's store.
struct StoredRecord {
  /// The time at which a record was stored, in whole seconds.
  enum Stamp: Hashable {
    /// The Unix time by the device's clock.
    case unix(Int)
    /// The time since the device was switched on: its clock had not been set.
    case uptime(Int)
  }

  /// The length in bytes of the frames and their lengths.
  static let blockLength = 440
  static let stampLength = 4
  /// September 2020, before the first device of the family: an earlier time shows that the clock had not been set.
  private static let earliest = 1_600_000_000

  var stamp: Stamp?
  var frames: [ArraySlice<UInt8>]

  /// Parses a record of the right length; any contents are some frames or none.
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

  /// Returns the frames of a block: each follows a byte with its length, and zeros follow the last.
  ///
  /// A frame that would reach the end of the block is ignored: the firmware stores it in the next block, and leaves its
  /// length here, with old bytes behind it.
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
  /// Returns the number in a range of the bytes, the most significant first; missing bytes are skipped.
  package func bigEndian(_ offset: Int, _ count: Int) -> UInt64 {
    dropFirst(offset).prefix(count).reduce(0) { $0 << 8 | UInt64($1) }
  }
}

extension FixedWidthInteger {
  /// The bytes of the number, the most significant first.
  package var bigEndianBytes: [UInt8] {
    stride(from: bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> $0) }
  }
}
