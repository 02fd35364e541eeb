/// What came of what a device has stored, and everything about it that was not as it should be.
public struct StoredCounters: Sendable, Hashable, Codable {
  /// Records that are on this disk. One holds a tenth of a second to half a second.
  public var records = 0
  /// Bytes of notifications, the refused ones among them.
  public var bytes = 0
  /// Notifications that say nothing, or nothing that fits there; refused.
  public var malformed = 0
  /// Pieces of which something was missing; they were asked for again.
  public var repeated = 0
  /// Records that the device has dropped before they could be fetched.
  public var overwritten = 0
  /// How often the device had another store than the one of the last time.
  public var replaced = 0
  /// Records without a frame in them.
  public var empty = 0

  /// Counts nothing yet.
  public init() {}

  static func + (one: StoredCounters, other: StoredCounters) -> StoredCounters {
    var sum = one
    sum.records += other.records
    sum.bytes += other.bytes
    sum.malformed += other.malformed
    sum.repeated += other.repeated
    sum.overwritten += other.overwritten
    sum.replaced += other.replaced
    sum.empty += other.empty
    return sum
  }
}

/// How it stands with what a device has stored.
public struct StoredStatus: Sendable, Hashable {
  /// Whether it is being fetched now.
  public var isFetching: Bool
  /// How many records are still to come, when that is known.
  public var remaining: Int?
  /// What was counted since the recorder began.
  public var counters: StoredCounters

  /// Describes how it stands.
  public init(isFetching: Bool, remaining: Int? = nil, counters: StoredCounters = StoredCounters()) {
    (self.isFetching, self.remaining, self.counters) = (isFetching, remaining, counters)
  }
}

/// How far a store has been fetched: what came is on disk, up to here.
struct StoredPosition: Hashable {
  /// The number of the next record; in a file, of the next block.
  var next: UInt64
  /// Which ring it is, when it is known.
  var ring: UInt64?
  /// ``Swift/Sequence/fnv1a`` of the record before, by which a store is known again.
  var tail: UInt64?
}

/// Why a transfer ended.
enum TransferEnd: Hashable {
  /// All of it is here, and the device was told so.
  case complete
  /// The device refused, with this status.
  case refused(UInt8)
  /// It did not answer.
  case unanswered
  /// Something was missing each time.
  case unreliable
  /// It stores in another way than it should; so many bytes a record, or of its status.
  case unknown(Int)
}

/// What is to be done next, in order.
enum TransferAction: Hashable {
  /// Write this to the device.
  case write([UInt8])
  /// Read how large the store is.
  case readSize
  /// Put whole records on disk, and say ``StoreTransfer/kept()``.
  case keep([UInt8])
  /// What is kept so far has an end; what comes next begins here.
  case restart(at: UInt64, ring: UInt64?)
  /// The device has up to this record what it stored until now.
  case filled(to: UInt64)
  /// Forget what was kept from here on: something of it is missing.
  case discard(from: UInt64)
  /// The device has deleted all of it, and counts from 0 again.
  case cleared
  /// Leave the radio to the live audio for a while.
  case rest
  case end(TransferEnd)

  /// This, and then others.
  func then(_ rest: [TransferAction]) -> [TransferAction] { [self] + rest }
}

/// How a store is fetched. A value without clock, radio or disk: what happens goes in, what is to be done comes out.
///
/// Nothing is freed on the device before ``kept()`` has said that it is on this disk.
protocol StoreTransfer: Sendable {
  var counters: StoredCounters { get }
  /// How many records are still to come, when that is known.
  var remaining: Int? { get }

  mutating func begin() -> [TransferAction]
  /// Takes a notification.
  mutating func take(_ value: [UInt8]) -> [TransferAction]
  /// Takes what the status characteristic holds.
  mutating func take(size value: [UInt8]) -> [TransferAction]
  /// What was to be kept last is on disk.
  mutating func kept() -> [TransferAction]
  /// Nothing came for ten seconds.
  mutating func timedOut() -> [TransferAction]
}

extension StoredFormat {
  /// Fetches a store of this kind from where it was left.
  func transfer(from position: StoredPosition?) -> any StoreTransfer {
    switch self {
    case .file: FileTransfer(from: position)
    case .ring: RingTransfer(from: position)
    }
  }
}
