import Logging
import Streams
import Testing
import Timing

@testable import NetworkPath

@Suite("Probes of a route") struct ProbeTests {
  private struct Probe: ReachabilityProbe {
    let asked: @Sendable () async throws -> Reachability
    func probe() async throws -> Reachability { try await asked() }
  }

  private struct Failed: Error {}

  /// What a runner reports about one way out.
  private func found(
    timeout: Duration = .seconds(60), _ asked: @escaping @Sendable () async throws -> Reachability
  ) async -> Reachability? {
    let (reports, report) = BoundedStream.make(of: Reachability.self, limit: 8)
    let (routes, route) = BoundedStream.make(of: ProbeRunner.Route.self, limit: 1)
    let runner = ProbeRunner(
      probe: Probe(asked: asked), interval: .seconds(3600), timeout: timeout, logger: Logger(label: "test")
    ) { found, number in if number == 7 { report.yield(found) } }
    let running = Task { await runner.run(routes) }
    route.yield(7)
    defer {
      route.finish()
      running.cancel()
    }
    for await found in reports { return found }
    return nil
  }

  @Test("The result of a probe is reported, an error as unreachable") func whatAProbeSays() async {
    #expect(await found { .reachable } == .reachable)
    #expect(await found { .portal } == .portal)
    #expect(await found { throw Failed() } == .unreachable)
  }

  @Test("A probe that exceeds its timeout counts as unreachable") func aProbeThatNeverAnswers() async {
    let found = await found(timeout: .milliseconds(1)) {
      try await Task.sleep(for: .seconds(3600), clock: .steady)
      return .reachable
    }
    #expect(found == .unreachable)
  }

  @Test("The probe of a lost route is cancelled") func theProbeOfAWayOutThatIsGoneIsGivenUp() async {
    let (routes, route) = BoundedStream.make(of: ProbeRunner.Route.self, limit: 1)
    let (events, event) = BoundedStream.make(of: String.self, limit: 8)
    let probe = Probe {
      event.yield("asked")
      do {
        try await Task.sleep(for: .seconds(3600), clock: .steady)
      } catch {
        event.yield("given up")
      }
      return .reachable
    }
    let runner = ProbeRunner(
      probe: probe, interval: .seconds(3600), timeout: .seconds(3600), logger: Logger(label: "test")
    ) { _, _ in event.yield("reported") }
    let running = Task { await runner.run(routes) }
    var seen = events.makeAsyncIterator()
    route.yield(1)
    #expect(await seen.next() == "asked")
    route.yield(nil)
    #expect(await seen.next() == "given up")
    route.finish()
    await running.value
  }

  @Test(
    "A captive portal makes the path require a connection",
    .enabled(if: Namespace.isPermitted, "needs root, or to run under: unshare --user --map-root-user --net"))
  func aPortalIsNoWayOut() async throws {
    let namespace = try await Namespace()
    let monitor = try await namespace.monitor { options in
      options.settleDown = .zero
      options.settleUp = .zero
      options.probe = Probe { .portal }
    }
    #expect(monitor.path.reachability == nil)
    let seen = Watcher(monitor)
    try await namespace.addCable("up0")
    try await namespace.ip("addr add 192.0.2.2/24 dev up0\nroute add default via 192.0.2.1")
    let portal = try await seen.until("a portal") { $0.reachability == .portal }
    #expect(portal.path.status == .requiresConnection)
    #expect(portal.path.unsatisfiedReason == .portal)
    try await namespace.ip("route del default")
    try await seen.until("nothing to ask") { $0.reachability == nil && $0.unsatisfiedReason == .noDefaultRoute }
  }

  @Test("Options out of range are refused") func optionsThatCannotBe() {
    let changes: [(inout NetworkPathMonitor.Options) -> Void] = [
      { $0.settleDown = .milliseconds(-1) }, { $0.settleUp = .seconds(Int64.max) }, { $0.probeInterval = .zero },
      { $0.probeTimeout = .zero },
    ]
    for change in changes {
      var options = NetworkPathMonitor.Options()
      change(&options)
      let chosen = options
      let error = #expect(throws: NetworkPathError.self) { try NetworkPathMonitor(opening: chosen) }
      #expect(error?.code == .invalidArgument)
    }
  }
}
