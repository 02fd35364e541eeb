import EdgeCoder
import NetworkPath
import Streams

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
