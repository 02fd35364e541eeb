/// Why the network path cannot be watched.
public struct NetworkPathError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What kind of failure it was; new codes may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The code in words.
    public let description: String
    init(_ description: String) { self.description = description }

    /// The kernel gives this process no netlink socket, or none of what is asked through it.
    public static let unavailable = Code("netlink is not available")
    /// The process has reached a limit: descriptors, threads, memory.
    public static let limitExceeded = Code("limit exceeded")
    /// The kernel did not answer in time.
    public static let timedOut = Code("timed out")
    /// A caller's argument cannot be.
    public static let invalidArgument = Code("invalid argument")
  }

  /// The kind of failure.
  public var code: Code
  /// What happened, with the phase it happened in.
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
