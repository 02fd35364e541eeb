/// The state of the schedule that survives a restart: 64 bytes, the same for every sender.
///
/// The record contains nothing about the queue: no number of messages, no hints. All instants are wall-clock time in
/// milliseconds since 1970.
///
/// ```swift
/// var record = SendingRecord()
/// record.isPending = true
/// let copy = try SendingRecord(bytes: record.bytes)
/// ```
public struct SendingRecord: Sendable, Hashable {
  /// A Boolean value that indicates whether a run is owed.
  public var isPending = false
  /// The number of failed runs since the last completed one.
  public var failures: UInt32 = 0
  /// The number of messages that the interrupted run has still to send; 0 when no run was interrupted.
  public var remaining: UInt32 = 0
  /// The instant of the last tick or start, including skipped ones.
  public var lastTrigger: Int64?
  /// The instant at which the last completed run started.
  public var lastRun: Int64?
  /// The instant of the last failed run, while ``failures`` is not 0.
  public var lastFailure: Int64?
  /// The instant of the next tick.
  public var due: Int64?

  /// The size of every record in bytes.
  public static let byteCount = 64
  private static let magic = Array("EBSEND1\n".utf8)
  /// The stored form of an instant that is absent.
  private static let absent = Int64.min

  /// Creates the record of a sender that has never run.
  public init() {}

  /// Decodes a record from its stored form.
  /// - Throws: ``MessageSendingError`` with code `.damagedFile` if the bytes are no record, or were changed.
  public init(bytes: [UInt8]) throws(MessageSendingError) {
    try checkSize(of: "the schedule's record", bytes.count, Self.byteCount, .damagedFile)
    guard Self.checksum(of: bytes[..<56]) == Self.integer(bytes[56...]) else {
      throw MessageSendingError(.damagedFile, "the schedule's record does not match its checksum")
    }
    guard Array(bytes[..<8]) == Self.magic, bytes[8] <= 1, bytes[9..<16].allSatisfy({ $0 == 0 }) else {
      throw MessageSendingError(.damagedFile, "the schedule's record is of an unknown format")
    }
    isPending = bytes[8] == 1
    failures = Self.integer(bytes[16..<20])
    remaining = Self.integer(bytes[20..<24])
    lastTrigger = Self.instant(bytes[24..<32])
    lastRun = Self.instant(bytes[32..<40])
    lastFailure = Self.instant(bytes[40..<48])
    due = Self.instant(bytes[48..<56])
  }

  /// The record as it is stored: little-endian fields of fixed width, and a checksum.
  public var bytes: [UInt8] {
    var bytes = Self.magic + [isPending ? 1 : 0, 0, 0, 0, 0, 0, 0, 0]
    for number in [failures, remaining] { bytes += Self.bytes(number) }
    for instant in [lastTrigger, lastRun, lastFailure, due] { bytes += Self.bytes(instant ?? Self.absent) }
    return bytes + Self.bytes(Self.checksum(of: bytes[...]))
  }

  private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: number.littleEndian) { Array($0) }
  }

  private static func integer<Number: FixedWidthInteger>(_ bytes: ArraySlice<UInt8>) -> Number {
    bytes.reversed().reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
  }

  private static func instant(_ bytes: ArraySlice<UInt8>) -> Int64? {
    let number: Int64 = integer(bytes)
    return number == absent ? nil : number
  }

  /// FNV-1a: it finds every change of a single byte; the record is no secret and needs no cryptography.
  private static func checksum(of bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}
