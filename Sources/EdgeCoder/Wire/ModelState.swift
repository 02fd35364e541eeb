/// The state of the model that a phone reports in its status; the raw values are those of the protocol.
public enum ModelState: String, Sendable, Codable, CaseIterable {
  /// No model is installed, or no engine is running.
  case notInstalled
  /// The engine is downloading the model.
  case downloading
  /// The engine is loading the model into memory.
  case loading
  /// The model is ready to answer prompts.
  case ready
  /// The engine is running and does not work.
  case error
}
