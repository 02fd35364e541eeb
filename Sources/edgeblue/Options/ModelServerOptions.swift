import ArgumentParser
import EdgeCoder
import EdgeCoderHTTP
import Foundation

/// The options that describe a model server: its URL, its model and the key to it.
struct ModelServerOptions: ParsableArguments {
  /// The protocol of a model server.
  enum Kind: String, ExpressibleByArgument, CaseIterable {
    case ollama, openai
  }

  @Option(
    name: .customLong("engine-url"),
    help: ArgumentHelp(
      "The URL of the server. Default: \(OllamaEngine.defaultURL) for ollama, \(OpenAIEngine.defaultURL) for openai.",
      valueName: "url"))
  var url: String?
  @Option(
    help: ArgumentHelp(
      "The name of the model. Default: the model that the server has loaded, or lists first.", valueName: "name"))
  var model: String?
  @Option(
    name: .customLong("engine-key-file"), help: Secret.engineKey.help("the API key of an openai server"),
    completion: .file())
  var keyFile: String?

  /// Returns an engine for the server. No option is an API key, because all users of the host can read command lines.
  func engine(_ kind: Kind) throws -> any Engine {
    switch kind {
    case .ollama: try OllamaEngine(url: url ?? OllamaEngine.defaultURL, model: model)
    case .openai:
      try OpenAIEngine(
        url: url ?? OpenAIEngine.defaultURL, model: model,
        apiKey: try Secret.engineKey.value(keyFile, ProcessInfo.processInfo.environment).flatMap(APIKey.init))
    }
  }
}
