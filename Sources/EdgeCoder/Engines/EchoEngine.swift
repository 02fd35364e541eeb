internal import Streams
public import Timing

/// An engine without a model that repeats the prompt after its own name.
///
/// The engine is meant for tests, demonstrations, and a first run on a board without a model. One piece counts as one
/// token.
///
/// ```swift
/// let engine = EchoEngine()
/// for try await output in engine.generate(.init(prompt: "Hello", maxTokens: 8)) { print(output) }
/// ```
public struct EchoEngine: Engine {
  /// The text at the start of each output.
  public static let prefix = "[echo engine] "

  /// The options that determine the output and its speed.
  public struct Options: Sendable, Hashable {
    /// The number of characters of one piece, 1 or more. Default: 16.
    public var pieceLength = 16
    /// The delay before each piece. Default: none.
    public var delay = Duration.zero
    /// The size of the output in bytes of UTF-8; `nil` repeats the prompt once.
    ///
    /// The prompt is repeated up to this size, or a few bytes less if a character does not fit. The pieces are as long as
    /// needed to stay within the tokens of the request.
    public var repeatToBytes: Int?

    /// Creates options with the default of each property.
    public init() {}
  }

  /// The name of the engine, `echo`.
  public let name = "echo"
  /// The options that determine the output and its speed.
  public let options: Options
  private let time: TimeSource

  /// Creates an engine from its options and a clock.
  public init(options: Options = Options(), time: TimeSource = .continuous) {
    self.options = options
    self.time = time
  }

  /// Returns `ready`, because the engine needs no model.
  public func modelState() async -> ModelState { .ready }

  /// Streams the prefix and the prompt as determined by ``Options``, and the number of pieces as that of the tokens.
  public func generate(_ request: InferenceRequest) -> AsyncThrowingStream<EngineOutput, any Error> {
    let outputs = outputs(for: request.prompt, maxTokens: max(1, request.maxTokens ?? .max))
    let time = time
    let delay = options.delay
    let position = Lock(0)
    return AsyncThrowingStream {
      let next = position.withLock { position -> EngineOutput? in
        guard position < outputs.count else { return nil }
        defer { position += 1 }
        return outputs[position]
      }
      if next?.text != nil, delay > .zero { try await time.sleep(for: delay) }
      try Task.checkCancellation()
      return next
    }
  }

  private func outputs(for prompt: String, maxTokens: Int) -> [EngineOutput] {
    var text = Self.prefix + prompt
    if let bytes = options.repeatToBytes {
      text = Self.repeating(prompt, to: max(bytes, Self.prefix.utf8.count))
    }
    var pieceLength = max(1, options.pieceLength)
    if options.repeatToBytes != nil { pieceLength = max(pieceLength, (text.count - 1) / maxTokens + 1) }
    var pieces: [EngineOutput] = []
    var rest = Substring(text)
    while !rest.isEmpty, pieces.count < maxTokens {
      pieces.append(.text(String(rest.prefix(pieceLength))))
      rest = rest.dropFirst(pieceLength)
    }
    var completion = Completion(rest.isEmpty ? .stop : .length)
    completion.replyTokens = pieces.count
    return pieces + [.end(completion)]
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
