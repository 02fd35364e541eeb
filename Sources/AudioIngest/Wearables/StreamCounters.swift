/// What came from a device, and everything about it that was not as it should be.
public struct StreamCounters: Sendable, Hashable, Codable {
  /// Notifications, the refused ones among them.
  public var notifications = 0
  /// Their bytes.
  public var bytes = 0
  /// Too short for the framing, or longer than any notification; refused.
  public var malformed = 0
  /// Came twice; dropped.
  public var duplicates = 0
  /// Came after a later one and were put in their place.
  public var reordered = 0
  /// Came so late that their place had been filled; dropped.
  public var late = 0
  /// Numbers that never came.
  public var lostPackets = 0
  /// Jumps of the number that cannot be a loss: the device started anew.
  public var resets = 0
  /// Whole frames.
  public var frames = 0
  /// Frames that are missing, those with a missing piece among them.
  public var lostFrames = 0
  /// Frames of which a piece is missing.
  public var truncatedFrames = 0
  /// Pieces without their beginning.
  public var orphanFragments = 0
  /// Frames longer than any codec makes; dropped.
  public var oversizedFrames = 0

  /// Counts nothing yet.
  public init() {}
}
