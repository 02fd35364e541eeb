internal import Streams
public import Timing

/// An engine without a model: it says that it is the echo engine and repeats the prompt.
///
/// For tests, demonstrations, and a first run on a board without a model. One piece counts as one token.
public struct EchoEngine: Engine {
  /// What the output begins with.
  public static let prefix = "[echo engine] "

  /// How the echo is made.
  public struct Options: Sendable, Hashable {
    /// The characters of one piece, 1 or more.
    public var pieceLength = 16
    /// How long each piece takes.
    public var delay = Duration.zero
    /// Repeats the prompt until the output has this many UTF-8 bytes (a few less when a character does not fit);
    /// `nil` repeats it once. The pieces are made as long as it takes to stay within the request's tokens.
    public var repeatToBytes: Int?

    /// Makes the default options: the prompt once, at once.
    public init() {}
  }

  /// `echo`.
  public let name = "echo"
  /// How the echo is made.
  public let options: Options
  private let time: TimeSource

  /// Makes an engine.
  public init(options: Options = Options(), time: TimeSource = .continuous) {
    self.options = options
    self.time = time
  }

  /// Always ready.
  public func modelState() async -> ModelState { .ready }

  /// Streams the prefix and the prompt; see ``Options``.
  public func generate(prompt: String, maxTokens: Int) -> AsyncThrowingStream<String, any Error> {
    let pieces = pieces(of: prompt, maxTokens: max(1, maxTokens))
    let (time, delay) = (time, options.delay)
    let position = Lock(0)
    return AsyncThrowingStream {
      if delay > .zero { try await time.sleep(for: delay) }
      try Task.checkCancellation()
      return position.withLock { position in
        guard position < pieces.count else { return nil }
        defer { position += 1 }
        return pieces[position]
      }
    }
  }

  private func pieces(of prompt: String, maxTokens: Int) -> [String] {
    var text = Self.prefix + prompt
    if let bytes = options.repeatToBytes {
      text = Self.repeating(prompt, to: max(bytes, Self.prefix.utf8.count))
    }
    var pieceLength = max(1, options.pieceLength)
    if options.repeatToBytes != nil { pieceLength = max(pieceLength, (text.count + maxTokens - 1) / maxTokens) }
    var pieces: [String] = []
    var rest = Substring(text)
    while !rest.isEmpty, pieces.count < maxTokens {
      pieces.append(String(rest.prefix(pieceLength)))
      rest = rest.dropFirst(pieceLength)
    }
    return pieces
  }

  private static func repeating(_ prompt: String, to bytes: Int) -> String {
    let unit = prompt.isEmpty ? "." : prompt + " "
    var text = prefix
    while text.utf8.count + unit.utf8.count <= bytes { text += unit }
    for character in unit {
      guard text.utf8.count + String(character).utf8.count <= bytes else { break }
      text.append(character)
    }
    return text
  }
}
