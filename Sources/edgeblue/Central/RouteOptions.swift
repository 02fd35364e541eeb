import ArgumentParser
import EdgeCoder
import NetworkPath

/// The options that give a central a model server on the network, and select the route of prompts.
struct RouteOptions: ParsableArguments {
  @Option(
    help:
      "A model server on the network: ollama, or openai (any server with OpenAI's API). Default: only phones answer.")
  var engine: ModelServerOptions.Kind?
  @OptionGroup var server: ModelServerOptions
  @Option(
    help:
      "The route of prompts while there is a default route: auto (the default with --engine), network or bluetooth.",
    completion: .words(RoutedInference.Preference.self), transform: named)
  var prefer: RoutedInference.Preference?

  func validate() throws {
    guard engine == .openai || server.keyFile == nil else {
      throw ValidationError("--engine-key-file requires --engine openai.")
    }
    guard engine == nil else { return }
    if server.url != nil || server.model != nil {
      throw ValidationError("--engine-url and --model require --engine.")
    }
    if let prefer, prefer != .bluetooth {
      throw ValidationError("--prefer \(prefer.rawValue) requires --engine; without it, only phones answer.")
    }
  }

  /// Returns the routes to phones and to the model server; `nil` without a model server.
  func routes(to phones: any InferenceService) async throws -> Routes? {
    guard let engine else { return nil }
    let model = try server.engine(engine)
    let network = NetworkWatch(monitor: try await NetworkPathMonitor.start(.withNetworkManager))
    return Routes(
      service: RoutedInference(phones: phones, engine: model, preference: prefer ?? .auto, network: network),
      network: network)
  }
}
