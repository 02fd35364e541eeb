internal import CNetlink
internal import Logging
internal import Streams

/// What the monitor, its thread and its helpers share. Only the monitor itself ends it, so nothing here keeps that.
final class MonitorCore: Sendable {
  enum Input: Sendable {
    case metered(Metered?)
    case probed(Reachability, wayOut: Int)
    case close
  }

  private struct State {
    var inputs: [Input] = []
    var statistics = NetworkPathMonitor.Statistics()
    /// Why the kernel could not be asked, last time.
    var problem: NetworkPathError?
    var hasEnded = false
    var probed: ProbeRunner.WayOut = nil
  }

  let options: NetworkPathMonitor.Options
  let wakeUp: WakeUp
  /// Runs tasks on the monitor's thread.
  let executor: ThreadExecutor
  /// Where the kernel tells of changes.
  let events: NetlinkSocket
  /// Where it is asked.
  let questions: NetlinkSocket
  let resolver: ResolverFile
  /// What is told of the path.
  let feed = UpdateFeed<PathUpdate>()
  /// The ways out, for a probe.
  let waysOut: BoundedStream<ProbeRunner.WayOut>
  private let waysOutSource: BoundedStream<ProbeRunner.WayOut>.Source
  private let state = Lock(State())

  /// How long the kernel may take to answer.
  private static let answerLimit: Duration = .seconds(2)

  init(_ options: NetworkPathMonitor.Options) throws(NetworkPathError) {
    self.options = options
    do {
      wakeUp = try WakeUp()
    } catch {
      throw NetworkPathError(.limitExceeded, "\(error)")
    }
    executor = ThreadExecutor(wake: { [wakeUp] in wakeUp.signal() })
    let groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE
    events = try NetlinkSocket(groups: UInt32(groups), receiveBuffer: options.receiveBuffer)
    events.keepBackOtherRoutes()
    questions = try NetlinkSocket(answerLimit: Self.answerLimit)
    resolver = ResolverFile(path: options.resolverFile)
    (waysOut, waysOutSource) = BoundedStream.make(limit: 1)
  }

  /// Starts the thread, in the network namespace of the caller's.
  func startWorking() throws(NetworkPathError) {
    do {
      try startThread(named: "network-path") {
        do throws(NetworkPathError) {
          var worker = PathWorker(self)
          try worker.run()
        } catch {
          self.options.logger.error("the network path is no longer watched", metadata: ["error": "\(error)"])
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
    options.logger.warning("the kernel's network tables cannot be read", metadata: ["error": "\(error)"])
    state.withLock { state in
      state.problem = error
      state.statistics.failedDumps += 1
    }
  }

  func tell(_ update: PathUpdate) {
    state.withLock { $0.problem = nil }
    feed.publish(update)
  }

  func tellProbe(_ wayOut: ProbeRunner.WayOut) {
    let isNew = state.withLock { state in
      defer { state.probed = wayOut }
      return state.probed != wayOut
    }
    if isNew { waysOutSource.yield(wayOut) }
  }

  func put(_ input: Input) {
    // Without a thread nobody would take it.
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
    waysOutSource.finish()
  }
}
