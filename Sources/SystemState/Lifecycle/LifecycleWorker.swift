internal import DBus
internal import Logging
internal import Streams

/// The state that the monitor shares with its worker. Only the monitor itself closes it, so nothing here may keep a
/// reference to the monitor.
final class LifecycleCore: Sendable {
  let options: LifecycleMonitor.Options
  let feed = UpdateFeed<LifecycleUpdate>()
  let news = MonitorNews()
  private let machine: Lock<LifecycleMachine>

  init(_ options: LifecycleMonitor.Options) {
    self.options = options
    machine = Lock(LifecycleMachine(choice: options.choice))
  }

  /// Handles an event; the order of the calls is that of the updates.
  func handle(_ event: LifecycleMachine.Event) {
    machine.withLock { machine in
      for case .publish(let update) in machine.handle(event) { feed.publish(update) }
    }
  }

  func close() { news.wake.finish() }
}

/// Reads logind whenever it may report something new.
actor LifecycleWorker: MonitorWorker {
  private let core: LifecycleCore
  private var bus: LifecycleBus?
  /// The logind from which the announcement of a sleep was read.
  private var known: String?
  /// The instant of a reading that found no session; `nil` if the last one found another state, or failed.
  private var foundNothing: ContinuousClock.Instant?

  /// The age at which a reading that found no session is replaced: 5 min. Signals report logind and new sessions, unlike
  /// a session's terminal that becomes idle.
  private static let longestAge: Duration = .seconds(300)

  init(_ core: LifecycleCore) { self.core = core }

  func close() { bus = nil }

  func read() async {
    guard let address = core.options.bus else { return core.handle(.logindGone) }
    // Before the reading: what is reported meanwhile is read next.
    let hasNews = core.news.take()
    if let foundNothing, !hasNews, ContinuousClock.now - foundNothing < Self.longestAge { return }
    foundNothing = nil
    do {
      if bus == nil { bus = try await connect(address) }
      guard let bus else { return }
      let owner = try await bus.owner()
      if owner != known { core.handle(.sleep(false)) }
      guard let owner else {
        known = nil
        foundNothing = .now
        return core.handle(.logindGone)
      }
      if owner != known { try await bus.readSleep { [core] in core.handle(.sleep($0)) } }
      known = owner
      let session = try await bus.session()
      if session == nil { foundNothing = .now }
      core.handle(.session(session))
    } catch {
      bus = nil
      known = nil
      // A closed monitor publishes nothing.
      guard !Task.isCancelled else { return }
      core.options.logger.debug("connection for the session failed", metadata: ["error": "\(error)"])
      core.handle(.logindGone)
    }
  }

  private func connect(_ address: Connection.Bus) async throws -> LifecycleBus {
    try await LifecycleBus(address, logger: core.options.logger) { [core] in
      core.handle(.sleep($0))
    } onChange: { [core] in
      core.news.report()
    }
  }
}
