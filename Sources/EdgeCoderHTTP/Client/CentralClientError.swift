/// Why a central in another process could not be asked.
public struct CentralClientError: Error, Sendable, CustomStringConvertible {
  /// What kind of failure it was; new codes may be added.
  public struct Code: Sendable, Hashable {
    let name: String
    /// Nothing answers at the address.
    public static let unreachable = Code(name: "unreachable")
    /// What answers there is not a central.
    public static let notACentral = Code(name: "not a central")
    /// The central did not answer in time.
    public static let timedOut = Code(name: "timed out")
    /// The central went away in the middle of its answer.
    public static let interrupted = Code(name: "interrupted")
    /// The central refused the request itself.
    public static let refused = Code(name: "refused")
  }

  /// The kind of failure.
  public var code: Code
  /// What happened, for a person.
  public var message: String
  /// What a person can do about it.
  public var hint: String?

  /// Makes an error.
  public init(_ code: Code, _ message: String, hint: String? = nil) {
    self.code = code
    self.message = message
    self.hint = hint
  }

  static func notACentral(at url: String) -> CentralClientError {
    CentralClientError(.notACentral, "what answers at \(url) is no EdgeBlue central", hint: "is the port right?")
  }

  static func interrupted(at url: String) -> CentralClientError {
    CentralClientError(.interrupted, "the central at \(url) went away in the middle of its answer")
  }

  /// The code, the message and the hint in one line.
  public var description: String {
    "\(code.name): \(message)" + (hint.map { " (\($0))" } ?? "")
  }
}
