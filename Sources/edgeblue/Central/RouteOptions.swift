import ArgumentParser
import EdgeCoder
import EdgeCoderHTTP
import NetworkPath

/// The options that give a central a model server on the network, and select the route of prompts.
struct RouteOptions: ParsableArguments {
  @Option(
    help:
      "A model server on the network: ollama, or openai (any server with OpenAI's API). Default: only phones answer.")
  var engine: ServerKind?
  @Option(
    name: .customLong("engine-url"),
    help: ArgumentHelp(
      "The URL of the server. Default: \(OllamaEngine.defaultURL) for ollama, \(OpenAIEngine.defaultURL) for openai.",
      valueName: "url"))
  var engineURL: String?
  @Option(
    help: ArgumentHelp(
      "The name of the model. Default: the model that the server has loaded, or lists first.", valueName: "name"))
  var model: String?
  @Option(
    help: ArgumentHelp(
      "A file whose first line is the API key of an openai server. Default: the systemd credential engine-key, or "
        + "EDGEBLUE_API_KEY.", valueName: "file"))
  var engineKeyFile: String?
  @Option(
    help:
      "The route of prompts while there is a default route: auto (the default with --engine), network or bluetooth.",
    transform: { text in
      guard let preference = RoutedInference.Preference(rawValue: text) else {
        throw ValidationError("--prefer: allowed are auto, network and bluetooth.")
      }
      return preference
    })
  var prefer: RoutedInference.Preference?

  enum ServerKind: String, ExpressibleByArgument, CaseIterable {
    case ollama, openai
  }

  func validate() throws {
    guard engine == .openai || engineKeyFile == nil else {
      throw ValidationError("--engine-key-file requires --engine openai.")
    }
    guard engine == nil else { return }
    if engineURL != nil || model != nil { throw ValidationError("--engine-url and --model require --engine.") }
    if let prefer, prefer != .bluetooth {
      throw ValidationError("--prefer \(prefer.rawValue) requires --engine; without it, only phones answer.")
    }
  }

  /// Returns the routes to phones and to the model server; `nil` without a model server.
  func routes(to phones: any InferenceService) async throws -> Routes? {
    guard let engine else { return nil }
    let server = try EngineOptions.engine(
      engine == .ollama ? .ollama : .openai, url: engineURL, model: model, keyFile: engineKeyFile)
    let network = NetworkWatch(monitor: try await NetworkPathMonitor.start(.withNetworkManager))
    return Routes(
      service: RoutedInference(phones: phones, engine: server, preference: prefer ?? .auto, network: network),
      network: network)
  }
}
