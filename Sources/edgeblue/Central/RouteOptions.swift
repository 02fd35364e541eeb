import ArgumentParser
import EdgeCoder
import EdgeCoderHTTP
import NetworkPath

/// Whether a central has a model server on the network, and when it uses it.
struct RouteOptions: ParsableArguments {
  @Option(
    help: "A model server on the network: ollama, or openai (llama.cpp's server …). Without it, only phones answer.")
  var engine: ServerKind?
  @Option(
    name: .customLong("engine-url"),
    help: ArgumentHelp(
      "The server's address. Without it \(OllamaEngine.defaultURL) for ollama and \(OpenAIEngine.defaultURL) for openai.",
      valueName: "url"))
  var engineURL: String?
  @Option(help: ArgumentHelp("The model. Without it, the one the server has loaded or lists first.", valueName: "name"))
  var model: String?
  @Option(
    help: "Where prompts go while there is a way out: auto (the default with --engine), network or bluetooth.",
    transform: { text in
      guard let preference = RoutedInference.Preference(rawValue: text) else {
        throw ValidationError("--prefer is auto, network or bluetooth.")
      }
      return preference
    })
  var prefer: RoutedInference.Preference?

  enum ServerKind: String, ExpressibleByArgument, CaseIterable {
    case ollama, openai
  }

  func validate() throws {
    guard engine == nil else { return }
    if engineURL != nil || model != nil { throw ValidationError("An address or a model needs --engine.") }
    if let prefer, prefer != .bluetooth {
      throw ValidationError("--prefer \(prefer.rawValue) needs --engine: without one, only phones answer.")
    }
  }

  /// The two routes; `nil` without a model server.
  func routes(to phones: any InferenceService) async throws -> Routes? {
    guard let engine else { return nil }
    let server = try EngineOptions.engine(engine == .ollama ? .ollama : .openai, url: engineURL, model: model)
    let network = NetworkWatch(monitor: try await NetworkPathMonitor.start(.withNetworkManager))
    return Routes(
      service: RoutedInference(phones: phones, engine: server, preference: prefer ?? .auto, network: network),
      network: network)
  }
}
