/// Why a background task cannot be had.
public struct BackgroundTasksError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What kind of failure it was; new codes may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The code in words.
    public let description: String
    init(_ description: String) { self.description = description }

    /// A caller's argument cannot be.
    public static let invalidArgument = Code("invalid argument")
    /// No handler is registered for the identifier.
    public static let notRegistered = Code("not registered")
    /// The task does not run.
    public static let notRunning = Code("not running")
    /// Another task has the turn, or this one has not ended.
    public static let busy = Code("busy")
    /// A file could not be read or written.
    public static let storage = Code("storage failed")
    /// A file does not hold what it should.
    public static let damagedFile = Code("damaged file")
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

  static func notRegistered(_ identifier: String, _ known: some Sequence<String>) -> BackgroundTasksError {
    BackgroundTasksError(
      .notRegistered, "no handler is registered for \(identifier)",
      hint: "there are: \(known.sorted().joined(separator: ", "))")
  }
}
