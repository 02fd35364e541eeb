/// The counters of the packets and frames that a device has sent, and of their faults.
public struct StreamCounters: Sendable, Hashable, Codable {
  /// The number of notifications received, malformed ones included.
  public var notifications = 0
  /// The number of bytes in all notifications.
  public var bytes = 0
  /// The number of notifications too short for the framing, or longer than any notification; they were rejected.
  public var malformed = 0
  /// The number of packets that arrived a second time; they were dropped.
  public var duplicates = 0
  /// The number of packets that arrived after a later one and were put back in order.
  public var reordered = 0
  /// The number of packets that arrived after their place had been filled; they were dropped.
  public var late = 0
  /// The number of packet numbers that never arrived.
  public var lostPackets = 0
  /// The number of jumps in the packet numbers that no loss explains: the device restarted.
  public var resets = 0
  /// The number of complete frames that were reassembled.
  public var frames = 0
  /// The number of missing frames, those with a missing fragment included.
  public var lostFrames = 0
  /// The number of frames of which a fragment is missing.
  public var truncatedFrames = 0
  /// The number of fragments that arrived without their frame's start.
  public var orphanFragments = 0
  /// The number of frames longer than any codec produces; they were dropped.
  public var oversizedFrames = 0

  /// Creates counters that are all zero.
  public init() {}
}
