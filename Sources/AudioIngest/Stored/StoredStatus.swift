/// The counters of the transfer of a device's stored audio, and of its faults.
public struct StoredCounters: Sendable, Hashable, Codable {
  /// The number of records on this disk; one holds between a tenth and half of a second.
  public var records = 0
  /// The number of bytes in notifications, malformed ones included.
  public var bytes = 0
  /// The number of malformed or unexpected notifications; they were rejected.
  public var malformed = 0
  /// The number of transfers of several records that were incomplete; they were requested again.
  public var repeated = 0
  /// The number of records that the device had dropped before they could be fetched.
  public var overwritten = 0
  /// The number of times that the device had another store than the last time.
  public var replaced = 0
  /// The number of records without a frame.
  public var empty = 0

  /// Creates counters that are all zero.
  public init() {}

  package static func + (one: StoredCounters, other: StoredCounters) -> StoredCounters {
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

/// The progress of the transfer of a device's stored audio.
public struct StoredStatus: Sendable, Hashable {
  /// A Boolean value that indicates whether a transfer is in progress.
  public var isFetching: Bool
  /// The number of records still on the device, if that is known.
  public var remaining: Int?
  /// The counters since the recorder started.
  public var counters: StoredCounters

  /// Creates a status from its values.
  public init(isFetching: Bool, remaining: Int? = nil, counters: StoredCounters = StoredCounters()) {
    self.isFetching = isFetching
    self.remaining = remaining
    self.counters = counters
  }
}
