/// An event of the agent, recorded so that the user can find out later why something happened.
public struct AgentEvent: Sendable, Hashable, Codable {
  /// The kind of an event, for programs. New kinds may be added.
  public struct Kind: RawRepresentable, Sendable, Hashable, Codable {
    /// The name of the kind in the log.
    public let rawValue: String

    /// Creates a kind with a name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The restored mode was applied at the start.
    public static let applied = Kind(rawValue: "applied")
    /// The user chose a mode.
    public static let chosen = Kind(rawValue: "chosen")
    /// The user changed a setting.
    public static let setting = Kind(rawValue: "setting")
    /// The mode changed from On to Bluetooth Local without the user.
    public static let downgraded = Kind(rawValue: "downgraded")
    /// The network returned, and the mode stayed Bluetooth Local.
    public static let networkReturned = Kind(rawValue: "network-returned")
    /// The mode returned from Bluetooth Local to On without the user, as the setting demands.
    public static let returned = Kind(rawValue: "returned")
    /// Nothing runs although the mode is not Off.
    public static let blocked = Kind(rawValue: "blocked")
    /// The reason why nothing ran has ended.
    public static let unblocked = Kind(rawValue: "unblocked")
    /// A service has started and works.
    public static let started = Kind(rawValue: "started")
    /// A service has stopped as requested.
    public static let stopped = Kind(rawValue: "stopped")
    /// A service of a mode has failed. Equal failures in a row are recorded once.
    public static let failed = Kind(rawValue: "failed")
    /// The user chose the lifecycle phase: foreground, background, or that of the system.
    public static let lifecycle = Kind(rawValue: "lifecycle")
    /// A background task is pending, is not pending any more, or has failed. Equal failures in a row are recorded once.
    public static let task = Kind(rawValue: "task")
    /// The state of this machine at the coordinator has changed.
    public static let coordinator = Kind(rawValue: "coordinator")
    /// Work on a task of the coordinator has begun or ended. Such events are not in the log.
    public static let work = Kind(rawValue: "work")
    /// A file could not be read or written, or can be again.
    public static let storage = Kind(rawValue: "storage")
  }

  /// The number of the event, counted from 1 and across restarts.
  public var number: Int
  /// The wall-clock time of the event, in milliseconds since 1970.
  public var atMs: Int64
  /// The kind of the event.
  public var kind: Kind
  /// The event in words, for display.
  public var text: String

  /// Creates an event from its parts.
  public init(number: Int, atMs: Int64, kind: Kind, text: String) {
    self.number = number
    self.atMs = atMs
    self.kind = kind
    self.text = text
  }
}
