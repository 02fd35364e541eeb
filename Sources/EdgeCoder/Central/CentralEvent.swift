/// An event of the central role that a user or a monitor may see.
///
/// ``Central/events()`` returns the stream of events.
public enum CentralEvent: Sendable, Hashable {
  /// The adapter is scanning for phones.
  case scanning
  /// The adapter is not scanning, with the reason for display.
  case notScanning(String)
  /// A phone was found for the first time, or again after it was lost, or is now used or refused as it was not before.
  case found(PhoneScanResult)
  /// The state of the connection to a phone changed, with the failure that caused the change.
  case connection(PhoneID, name: String, PhoneConnectionState, failure: PhoneConnectionFailure?)
  /// A phone sent a new status.
  case status(PhoneID, name: String, Wire.Status)
}

/// The counters of the central role since its start.
public struct CentralCounters: Sendable, Hashable, Codable {
  /// The number of prompts passed to ``Central/generate(_:onPart:)``.
  public var requests = 0
  /// The number of prompts that were answered.
  public var replies = 0
  /// The number of prompts that failed for any reason but cancellation.
  public var failures = 0
  /// The number of prompts that their caller cancelled.
  public var cancelled = 0
  /// The number of replies that arrived after their request was cancelled.
  public var lateReplies = 0
  /// The number of replies to requests of other centrals.
  public var foreignReplies = 0
  /// The number of objects that were neither a reply nor a status.
  public var malformed = 0
  /// The number of discarded bytes that belonged to no complete object.
  public var discardedBytes = 0
  /// The number of events that slow consumers of ``Central/events()`` lost.
  public var eventsDropped = 0

  /// Creates counters that are all zero.
  public init() {}
}
