internal import CNetlink
internal import Logging
internal import Streams

/// The state that the monitor shares with its thread and its tasks. Only the monitor itself closes it, so nothing here
/// may keep a reference to the monitor.
final class MonitorCore: Sendable {
  enum Input: Sendable {
    case metered(Metered?)
    case probed(Reachability, route: Int)
    /// The time for the first estimate of the metered source is over.
    case meteredIsLate
    case close
  }

  private struct State {
    var inputs: [Input] = []
    var statistics = NetworkPathMonitor.Statistics()
    /// The error of the newest failed dump, until one succeeds.
    var problem: NetworkPathError?
    var hasEnded = false
  }

  let options: NetworkPathMonitor.Options
  let wakeUp: WakeUp
  /// Runs tasks on the monitor's thread.
  let executor: ThreadExecutor
  /// The socket on which the kernel reports changes.
  let events: NetlinkSocket
  /// The socket for requests.
  let requests: NetlinkSocket
  let resolver: ResolverFile
  let feed = UpdateFeed<PathUpdate>()
  /// The numbers of the routes to probe.
  let routes: BoundedStream<ProbeRunner.Route>
  private let routesSource: BoundedStream<ProbeRunner.Route>.Source
  private let state = Lock(State())

  /// The timeout of a request to the kernel.
  private static let replyTimeout: Duration = .seconds(2)

  /// The group `RTNLGRP_IPV6_RULE`, which the imported headers have no mask for.
  private static let rulesOfIPv6: UInt32 = 1 << 18

  /// Opens the sockets, in the network namespace of the calling thread.
  init(_ options: NetworkPathMonitor.Options) throws(NetworkPathError) {
    self.options = options
    do {
      wakeUp = try WakeUp()
    } catch {
      throw NetworkPathError(.limitExceeded, "\(error)")
    }
    executor = ThreadExecutor(wake: { [wakeUp] in wakeUp.signal() })
    let groups =
      RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE | RTMGRP_IPV4_RULE
    events = try NetlinkSocket(groups: UInt32(groups) | Self.rulesOfIPv6, receiveBuffer: options.receiveBuffer)
    events.filterOutOtherRoutes()
    requests = try NetlinkSocket(replyTimeout: Self.replyTimeout)
    resolver = ResolverFile(path: options.resolverFile)
    (routes, routesSource) = BoundedStream.make(limit: 1)
  }

  /// Starts the thread.
  func startWorking() throws(NetworkPathError) {
    do {
      try startThread(named: "network-path") {
        do throws(NetworkPathError) {
          var worker = PathWorker(self)
          try worker.run()
        } catch {
          self.options.logger.error("network path monitor stopped", metadata: ["error": "\(error)"])
          self.state.withLock { $0.problem = error }
        }
        self.end()
        self.executor.end()
      }
    } catch {
      throw NetworkPathError(.limitExceeded, "\(error)")
    }
  }

  var problem: NetworkPathError? { state.withLock { $0.problem } }
  var statistics: NetworkPathMonitor.Statistics { state.withLock { $0.statistics } }

  func count(_ change: (inout NetworkPathMonitor.Statistics) -> Void) { state.withLock { change(&$0.statistics) } }

  func dumpFailed(_ error: NetworkPathError) {
    options.logger.warning("reading the kernel's network tables failed", metadata: ["error": "\(error)"])
    state.withLock { state in
      state.problem = error
      state.statistics.failedDumps += 1
    }
  }

  func publish(_ update: PathUpdate) {
    state.withLock { $0.problem = nil }
    feed.publish(update)
  }

  func probe(_ route: ProbeRunner.Route) { routesSource.yield(route) }

  func put(_ input: Input) {
    // After the thread's end nothing would take the inputs.
    state.withLock { if !$0.hasEnded { $0.inputs.append(input) } }
    wakeUp.signal()
  }

  func takeInputs() -> [Input] {
    state.withLock { state in
      defer { state.inputs = [] }
      return state.inputs
    }
  }

  private func end() {
    state.withLock { $0.hasEnded = true }
    feed.end()
    routesSource.finish()
  }
}
