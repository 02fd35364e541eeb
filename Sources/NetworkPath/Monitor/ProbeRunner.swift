internal import Logging
internal import Streams
internal import Timing

/// Runs a probe for each new route, and again at an interval.
struct ProbeRunner: Sendable {
  /// The number of a route to probe; `nil` while there is none.
  typealias Route = Int?

  let probe: any ReachabilityProbe
  let interval: Duration
  let timeout: Duration
  let logger: Logger
  let report: @Sendable (_ result: Reachability, _ route: Int) -> Void

  /// Runs until the stream ends.
  func run(_ routes: BoundedStream<Route>) async {
    var probing: Task<Void, Never>?
    for await route in routes {
      probing?.cancel()
      probing = route.map { route in Task { await follow(route) } }
    }
    probing?.cancel()
  }

  private func follow(_ route: Int) async {
    while !Task.isCancelled {
      let result = await once()
      if Task.isCancelled { return }
      report(result, route)
      do { try await Task.sleep(for: interval, clock: .steady) } catch { return }
    }
  }

  private func once() async -> Reachability {
    await withTaskGroup(of: Reachability.self) { group in
      group.addTask {
        do {
          return try await probe.probe()
        } catch {
          logger.info("reachability probe failed", metadata: ["error": "\(error)"])
          return .unreachable
        }
      }
      group.addTask {
        // Cancelled when the probe was quicker.
        try? await Task.sleep(for: timeout, clock: .steady)
        return .unreachable
      }
      defer { group.cancelAll() }
      return await group.next() ?? .unreachable
    }
  }
}
