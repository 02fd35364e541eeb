/// Something that happened to the agent, for a person who asks later why.
public struct AgentEvent: Sendable, Hashable, Codable {
  /// What kind of thing, for programs; new kinds may be added.
  public struct Kind: RawRepresentable, Sendable, Hashable, Codable {
    /// The kind as it is written.
    public let rawValue: String

    /// Names a kind.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// What was restored is applied.
    public static let applied = Kind(rawValue: "applied")
    /// A person chose a mode.
    public static let chosen = Kind(rawValue: "chosen")
    /// A person changed a setting.
    public static let setting = Kind(rawValue: "setting")
    /// The mode went from On to Bluetooth Local by itself.
    public static let downgraded = Kind(rawValue: "downgraded")
    /// The network came back, and the mode stayed.
    public static let networkReturned = Kind(rawValue: "network-returned")
    /// Nothing runs, though the mode is not Off.
    public static let blocked = Kind(rawValue: "blocked")
    /// What kept things from running is over.
    public static let unblocked = Kind(rawValue: "unblocked")
    /// A service works.
    public static let started = Kind(rawValue: "started")
    /// A service has stopped, as it was to.
    public static let stopped = Kind(rawValue: "stopped")
    /// A service has failed. The same failure again, in a row, is only counted.
    public static let failed = Kind(rawValue: "failed")
    /// A person chose the phase: the foreground, the background, or what the system says.
    public static let lifecycle = Kind(rawValue: "lifecycle")
    /// A background task is pending, or no longer, or has failed. The same failure again, in a row, is only counted.
    public static let task = Kind(rawValue: "task")
    /// Something between this machine and its coordinator.
    public static let coordinator = Kind(rawValue: "coordinator")
    /// Something about files.
    public static let storage = Kind(rawValue: "storage")
  }

  /// Counts the events from 1, also across restarts.
  public var number: Int
  /// When: milliseconds since 1970, wall time.
  public var atMs: Int64
  /// What kind of thing.
  public var kind: Kind
  /// It in words.
  public var text: String

  /// Makes an event, for tests of what uses one.
  public init(number: Int, atMs: Int64, kind: Kind, text: String) {
    self.number = number
    self.atMs = atMs
    self.kind = kind
    self.text = text
  }
}

extension ModeMachine.LogEntry {
  /// The entry's kind in the log.
  var kind: AgentEvent.Kind {
    switch self {
    case .applied: .applied
    case .chosen: .chosen
    case .downgraded: .downgraded
    case .networkReturned: .networkReturned
    case .blocked: .blocked
    case .unblocked: .unblocked
    case .failed: .failed
    }
  }
}
