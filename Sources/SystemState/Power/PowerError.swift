/// Why power cannot be watched.
public struct PowerError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What kind of failure it was; new codes may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The code in words.
    public let description: String
    init(_ description: String) { self.description = description }

    /// A caller's argument cannot be.
    public static let invalidArgument = Code("invalid argument")
  }

  /// The kind of failure.
  public var code: Code
  /// What happened.
  public var message: String
  /// What a person can do about it.
  public var hint: String?

  /// Makes an error.
  public init(_ code: Code, _ message: String, hint: String? = nil) {
    self.code = code
    self.message = message
    self.hint = hint
  }

  /// The code, the message and the hint in one line.
  public var description: String { "\(code): \(message)" + (hint.map { " (\($0))" } ?? "") }
}
