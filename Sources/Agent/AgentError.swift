/// Why the agent cannot do what was asked for.
public struct AgentError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What kind of failure it was; new codes may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The code in words.
    public let description: String
    init(_ description: String) { self.description = description }

    /// A caller's argument cannot be.
    public static let invalidArgument = Code("invalid argument")
    /// A file could not be read or written.
    public static let storage = Code("storage failed")
    /// A file does not hold what it should.
    public static let damagedFile = Code("damaged file")
    /// A service was to stop and did not.
    public static let serviceHangs = Code("service hangs")
    /// What was under way was told to end.
    public static let interrupted = Code("interrupted")
    /// No heartbeat gets through to the coordinator.
    public static let noHeartbeat = Code("no heartbeat")
    /// What is asked for cannot be at the moment.
    public static let notNow = Code("not now")
    /// What tells of the network or the power has ended.
    public static let inputEnded = Code("input ended")
    /// What a service needs was not set up.
    public static let notConfigured = Code("not configured")
    /// Something took longer than it may.
    public static let timedOut = Code("timed out")
    /// The coordinator will not have this machine.
    public static let refused = Code("refused")
    /// Another agent runs already.
    public static let alreadyRunning = Code("already running")
    /// No agent runs that could be asked.
    public static let notRunning = Code("not running")
    /// The bus does not allow it.
    public static let notPermitted = Code("not permitted")
    /// The bus over which the agent is controlled has gone.
    public static let busLost = Code("bus lost")
    /// An answer cannot be understood.
    public static let unexpectedReply = Code("unexpected reply")
  }

  /// The kind of failure.
  public var code: Code
  /// What happened.
  public var message: String
  /// The kernel's error number behind it, when there is one.
  public var errno: Int32?
  /// What a person can do about it.
  public var hint: String?

  /// Makes an error.
  public init(_ code: Code, _ message: String, errno: Int32? = nil, hint: String? = nil) {
    self.code = code
    self.message = message
    self.errno = errno
    self.hint = hint
  }

  /// The code, the message and the hint in one line.
  public var description: String { "\(code): \(message)" + (hint.map { " (\($0))" } ?? "") }
}
