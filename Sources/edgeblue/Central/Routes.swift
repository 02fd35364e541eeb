import EdgeCoder
import NetworkPath
import Streams

/// A central with a model server, and the network monitor that selects between them.
struct Routes: Sendable {
  let service: RoutedInference
  let network: NetworkWatch

  /// Prints the route of prompts, and each change of it.
  func report(_ terminal: Terminal) async {
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

/// The availability of the network, as the kernel reports it.
struct NetworkWatch: NetworkAvailability {
  let monitor: NetworkPathMonitor

  var isAvailable: Bool { monitor.path.status == .satisfied }

  func waitUntilLost() async {
    for await update in monitor.updates() where update.path.status != .satisfied { return }
    // The end of the monitor is not a loss of the network; only a cancelled caller returns.
    let (never, source) = BoundedStream.make(of: Void.self, limit: 1)
    for await _ in never {}
    withExtendedLifetime(source) {}
  }
}
