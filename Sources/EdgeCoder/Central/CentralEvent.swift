/// News of the central, for a person at a terminal.
public enum CentralEvent: Sendable, Hashable {
  /// The adapter looks for phones.
  case scanning
  /// The adapter does not look for phones; why.
  case notScanning(String)
  /// A phone was seen for the first time, or again after it was lost.
  case seen(PhoneSighting)
  /// A phone's link changed its state; why, when it failed.
  case link(PhoneID, name: String, LinkState, reason: String?)
  /// A phone said how it is.
  case status(PhoneID, name: String, Wire.Status)
}

/// What the central did since it started.
public struct CentralCounters: Sendable, Hashable, Codable {
  /// Prompts given to ``Central/generate(prompt:maxTokens:onText:)``.
  public var requests = 0
  /// Prompts that got their reply.
  public var replies = 0
  /// Prompts that did not, for any reason but cancellation.
  public var failures = 0
  /// Prompts given up by their caller.
  public var cancelled = 0
  /// Replies that came after their request was given up.
  public var lateReplies = 0
  /// Replies to requests that were never ours.
  public var foreignReplies = 0
  /// Objects that were neither a reply nor a status.
  public var malformed = 0
  /// Bytes thrown away that belonged to no complete object.
  public var discardedBytes = 0
  /// Events that a slow reader of ``Central/events()`` missed.
  public var eventsDropped = 0

  /// Makes counters of zero.
  public init() {}
}
