internal import Logging
internal import Streams
internal import Timing

/// Asks a probe whenever there is a new way out, and again from time to time.
struct ProbeRunner: Sendable {
  /// A way out to ask about; `nil` while there is none.
  typealias WayOut = Int?

  let probe: any ReachabilityProbe
  let interval: Duration
  let timeout: Duration
  let logger: Logger
  let report: @Sendable (_ found: Reachability, _ wayOut: Int) -> Void

  /// Until the stream ends.
  func run(_ waysOut: BoundedStream<WayOut>) async {
    var asking: Task<Void, Never>?
    for await wayOut in waysOut {
      asking?.cancel()
      asking = wayOut.map { wayOut in Task { await ask(wayOut) } }
    }
    asking?.cancel()
  }

  private func ask(_ wayOut: Int) async {
    while !Task.isCancelled {
      let found = await once()
      if Task.isCancelled { return }
      report(found, wayOut)
      do { try await Task.sleep(for: interval, clock: .steady) } catch { return }
    }
  }

  private func once() async -> Reachability {
    await withTaskGroup(of: Reachability.self) { group in
      group.addTask {
        do {
          return try await probe.probe()
        } catch {
          logger.info("the network cannot be probed", metadata: ["error": "\(error)"])
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
