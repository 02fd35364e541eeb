/// What answers prompts on a phone: a local model server, or the echo engine.
///
/// One protocol serves every engine, so that the phone role neither knows nor cares what runs behind it. An engine is
/// used by one job at a time; it may be asked for its ``modelState()`` at any moment.
public protocol Engine: Sendable {
  /// A short name for logs, status pages and `--engine` (`echo`, `ollama`, `openai`).
  var name: String { get }

  /// What the engine can do right now. Bounded: an engine that does not answer within two seconds is `.error`.
  func modelState() async -> ModelState

  /// The model that answers a prompt now; `nil` when there is none, the engine does not say, or it does not answer
  /// within two seconds.
  func activeModel() async -> ActiveModel?

  /// Runs one prompt and streams the text as it is produced.
  ///
  /// The stream ends normally when the model stops or `maxTokens` is reached, and throws ``EngineError`` when the
  /// engine is absent, refuses, or dies in mid-stream. Cancelling the consuming task (or dropping the stream) stops
  /// the generation at the engine.
  /// - Parameters:
  ///   - prompt: the whole prompt, as it came over the air.
  ///   - maxTokens: the most tokens to produce, 1 or more.
  func generate(prompt: String, maxTokens: Int) -> AsyncThrowingStream<String, any Error>
}

extension Engine {
  /// `nil`: not every engine has models.
  public func activeModel() async -> ActiveModel? { nil }
}

/// A model that an engine runs.
public struct ActiveModel: Sendable, Hashable {
  /// Its name, as the engine knows it.
  public var name: String
  /// Its parameters in billions, more than 0; `nil` when that is not known.
  public var billionsOfParameters: Double?

  /// Makes one; a size that is no number, or not more than 0, is not known.
  public init(name: String, billionsOfParameters: Double? = nil) {
    self.name = name
    self.billionsOfParameters = billionsOfParameters.flatMap { $0.isFinite && $0 > 0 ? $0 : nil }
  }
}

/// The state a phone reports in its status message; raw values are those on the wire.
public enum ModelState: String, Sendable, Codable, CaseIterable {
  /// No model, or no engine, is there.
  case notInstalled
  /// The engine is fetching the model.
  case downloading
  /// The engine is loading the model into memory.
  case loading
  /// A prompt sent now is answered.
  case ready
  /// The engine is there but does not work.
  case error
}
