import ArgumentParser
import EdgeCoder
import EdgeCoderHTTP
import Foundation

/// Which engine answers prompts.
struct EngineOptions: ParsableArguments {
  enum Kind: String, ExpressibleByArgument, CaseIterable {
    case echo, ollama, openai
  }

  @Option(help: "What answers prompts: echo (repeats them; for trying out), ollama, or openai (llama.cpp's server …).")
  var engine = Kind.echo

  @Option(
    name: .customLong("engine-url"),
    help: ArgumentHelp(
      """
      The engine's address. Without it \(OllamaEngine.defaultURL) for ollama and \(OpenAIEngine.defaultURL) for openai.
      """, valueName: "url"))
  var engineURL: String?

  @Option(help: ArgumentHelp("The model. Without it, the one the engine has loaded or lists first.", valueName: "name"))
  var model: String?

  func validate() throws {
    if engine == .echo, engineURL != nil || model != nil {
      throw ValidationError("The echo engine has no address and no model: add --engine ollama or --engine openai.")
    }
  }

  /// The engine.
  func makeEngine() throws -> any Engine { try Self.engine(engine, url: engineURL, model: model) }

  /// An engine. An API key comes from EDGEBLUE_API_KEY: what is on a command line can be read by everyone here.
  static func engine(_ kind: Kind, url: String?, model: String?) throws -> any Engine {
    switch kind {
    case .echo: EchoEngine()
    case .ollama: try OllamaEngine(url: url ?? OllamaEngine.defaultURL, model: model)
    case .openai:
      try OpenAIEngine(
        url: url ?? OpenAIEngine.defaultURL, model: model,
        apiKey: ProcessInfo.processInfo.environment["EDGEBLUE_API_KEY"].flatMap(APIKey.init))
    }
  }

  /// The engine in a word or three.
  var title: String { engine.rawValue + (model.map { " with \($0)" } ?? "") }
}
