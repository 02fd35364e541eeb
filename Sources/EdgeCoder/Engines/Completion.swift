/// The end of a reply as its engine reports it: the reason, and the tokens and times that the engine counted.
///
/// ```swift
/// var completion = Completion(.length)
/// completion.replyTokens = 64
/// print(completion.reason)  // length
/// ```
public struct Completion: Sendable, Hashable {
  /// The reason why a reply ends.
  ///
  /// ```swift
  /// print(Completion.Reason(rawValue: "stop") == .stop)  // true
  /// ```
  public struct Reason: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The word for the reason, as clients of OpenAI's API know it.
    public let rawValue: String

    /// Creates a reason from its word.
    /// - Returns: `nil` unless the word has 1 to 32 lower-case letters, digits, hyphens and underscores.
    public init?(rawValue: String) {
      guard (1...32).contains(rawValue.utf8.count), rawValue.utf8.allSatisfy(Self.isAllowed) else { return nil }
      self.rawValue = rawValue
    }

    private init(_ rawValue: StaticString) { self.rawValue = rawValue.description }

    /// The model has finished, or produced a stop sequence.
    public static var stop: Self { Self("stop") }
    /// The text reached a limit: on tokens, on the context of the model, or on the size of a reply.
    public static var length: Self { Self("length") }
    /// The model calls tools and waits for their answers.
    public static var toolCalls: Self { Self("tool_calls") }
    /// A filter of the engine ended the text.
    public static var contentFilter: Self { Self("content_filter") }

    /// The word for the reason.
    public var description: String { rawValue }

    private static func isAllowed(_ byte: UInt8) -> Bool {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
      default: byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
      }
    }
  }

  /// The reason why the reply ends.
  public var reason: Reason
  /// The number of tokens of the prompt; `nil` if the engine did not report it.
  public var promptTokens: Int?
  /// The number of tokens of the reply; `nil` if the engine did not report it.
  public var replyTokens: Int?
  /// The number of tokens of the prompt that the engine had evaluated before, ``promptTokens`` among them; `nil` if the
  /// engine did not report it.
  public var cachedTokens: Int?
  /// The number of tokens of the thinking, ``replyTokens`` among them; `nil` if the engine did not report it.
  public var reasoningTokens: Int?
  /// The time to load the model; `nil` if the engine did not report it.
  public var loadTime: Duration?
  /// The time to evaluate the prompt; `nil` if the engine did not report it.
  public var promptTime: Duration?
  /// The time to produce the reply; `nil` if the engine did not report it.
  public var replyTime: Duration?

  /// Creates the end of a reply for a reason, without counts.
  public init(_ reason: Reason) { self.reason = reason }
}
