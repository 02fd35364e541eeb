import ArgumentParser
import EdgeCoder
import EdgeCoderHTTP
import NetworkPath
import Streams

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
    let network = NetworkWatch(monitor: try await NetworkPathMonitor.start())
    return Routes(
      service: RoutedInference(phones: phones, engine: server, preference: prefer ?? .auto, network: network),
      network: network)
  }
}

/// A central with a model server, and what says which of them is asked.
struct Routes: Sendable {
  let service: RoutedInference
  let network: NetworkWatch

  /// Tells a person which way prompts go, and when that changes.
  func tell(_ terminal: Terminal) async {
    var last: InferenceRoute?
    for await _ in network.monitor.updates() {
      let (route, reason) = service.route
      guard route != last else { continue }
      last = route
      let target = route == .network ? "the model server" : "the phones"
      terminal.happened(
        "prompts go to \(target): \(reason)", "route",
        ["route": .string(route.rawValue), "reason": .string(reason)])
    }
  }
}

/// The network as the kernel tells it.
struct NetworkWatch: NetworkAvailability {
  let monitor: NetworkPathMonitor

  var isAvailable: Bool { monitor.path.status == .satisfied }

  func untilLost() async {
    for await update in monitor.updates() where update.path.status != .satisfied { return }
    // The monitor has ended, which is no loss: only a cancelled caller is let go.
    let (never, source) = BoundedStream.make(of: Void.self, limit: 1)
    for await _ in never {}
    withExtendedLifetime(source) {}
  }
}
