/// An error with a code, a message, and the error number and hint where they are known.
///
/// Each library names its own: `AgentError` is a `CodedError<AgentErrorDomain>`, whose codes are declared for that domain
/// alone. New codes may be added, so a `switch` over codes needs a `default`.
///
/// ```swift
/// enum ParserErrors {}
/// typealias ParserError = CodedError<ParserErrors>
///
/// let tooLong = ParserError.Code("input too long", .invalidInput)
/// do {
///   throw ParserError(tooLong, "the line has 4096 bytes; at most 1024 are allowed")
/// } catch let error as ParserError where error.code == tooLong {
///   print(error)  // input too long: the line has 4096 bytes; at most 1024 are allowed
/// }
/// ```
public struct CodedError<Domain>: ReportableError, Hashable {
  /// The kind of failure, one of an open set.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The code in a few words.
    public let description: String
    /// The kind of reaction that errors of this code call for.
    public let category: ErrorCategory

    /// Creates a code; two codes with equal words and categories are equal.
    public init(_ description: String, _ category: ErrorCategory = .failed) {
      self.description = description
      self.category = category
    }
  }

  /// The kind of failure that the error reports.
  public var code: Code
  /// The failure in words, for a user.
  public var message: String
  /// The error number of the system call behind it, if there is one.
  public var errno: Int32?
  /// The action that can help, if one is known.
  public var hint: String?

  /// Creates an error with a code and a message.
  /// - Parameters:
  ///   - code: The kind of failure.
  ///   - message: The failure in words, one line without a full stop.
  ///   - errno: The error number of the system call behind it, if there is one.
  ///   - hint: The action that can help, if one is known.
  public init(_ code: Code, _ message: String, errno: Int32? = nil, hint: String? = nil) {
    self.code = code
    self.message = message
    self.errno = errno
    self.hint = hint
  }

  /// The kind of reaction that the code calls for.
  public var category: ErrorCategory { code.category }

  /// The code, the message and the hint in one line.
  public var description: String { "\(code): \(message)" + (hint.map { " (\($0))" } ?? "") }
}
