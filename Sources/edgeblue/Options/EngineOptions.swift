import ArgumentParser
import EdgeCoder
import EdgeCoderHTTP
import Foundation

/// The options that select the engine that runs prompts.
struct EngineOptions: ParsableArguments {
  enum Kind: String, ExpressibleByArgument, CaseIterable {
    case echo, ollama, openai
  }

  @Option(
    help:
      "The engine that answers prompts: echo (repeats each prompt, for tests), ollama, or openai (any server with OpenAI's API, such as llama.cpp's)."
  )
  var engine = Kind.echo

  @Option(
    name: .customLong("engine-url"),
    help: ArgumentHelp(
      """
      The URL of the engine. Default: \(OllamaEngine.defaultURL) for ollama, \(OpenAIEngine.defaultURL) for openai.
      """, valueName: "url"))
  var engineURL: String?

  @Option(
    help: ArgumentHelp(
      "The name of the model. Default: the model that the engine has loaded, or lists first.", valueName: "name"))
  var model: String?
  @Option(
    help: ArgumentHelp(
      "A file whose first line is the API key of the engine openai. Default: the systemd credential engine-key, or "
        + "EDGEBLUE_API_KEY.", valueName: "file"))
  var engineKeyFile: String?

  func validate() throws {
    if engine == .echo, engineURL != nil || model != nil {
      throw ValidationError("The echo engine has no URL and no model; add --engine ollama or --engine openai.")
    }
    guard engine == .openai || engineKeyFile == nil else {
      throw ValidationError("--engine-key-file: only the engine openai has a key.")
    }
  }

  /// Returns the engine that the options describe.
  func makeEngine() throws -> any Engine {
    try Self.engine(engine, url: engineURL, model: model, keyFile: engineKeyFile)
  }

  /// Returns an engine. No option is an API key, because all users of the host can read command lines.
  static func engine(_ kind: Kind, url: String?, model: String?, keyFile: String?) throws -> any Engine {
    switch kind {
    case .echo: EchoEngine()
    case .ollama: try OllamaEngine(url: url ?? OllamaEngine.defaultURL, model: model)
    case .openai:
      try OpenAIEngine(
        url: url ?? OpenAIEngine.defaultURL, model: model,
        apiKey: try Secret.engineKey.value(keyFile, ProcessInfo.processInfo.environment).flatMap(APIKey.init))
    }
  }

  /// The name of the engine, with the model if one is set.
  var title: String { engine.rawValue + (model.map { " with \($0)" } ?? "") }
}
