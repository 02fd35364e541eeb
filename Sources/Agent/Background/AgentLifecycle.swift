public import Streams
public import SystemState

/// The agent's phase: what the system says, and what a person has chosen, who is obeyed also after a restart.
public final class AgentLifecycle: Sendable {
  private let store: LifecycleStore
  private let log: EventLog
  private let monitor: LifecycleMonitor
  /// Held while a choice is written and takes effect, so that both have the same order.
  private let choosing = Lock(())

  private init(_ store: LifecycleStore, _ log: EventLog, _ monitor: LifecycleMonitor) {
    (self.store, self.log, self.monitor) = (store, log, monitor)
  }

  /// Restores what a person chose, and watches the system.
  /// - Throws: ``AgentError`` with code `.storage`, when the choice is there and cannot be read; `CancellationError`.
  public static func start(
    store: LifecycleStore, log: EventLog, options: LifecycleMonitor.Options = LifecycleMonitor.Options()
  ) async throws -> AgentLifecycle {
    let loaded = try store.load()
    if let problem = loaded.problem { log.append(.storage, problem.description) }
    var options = options
    options.choice = loaded.choice
    return AgentLifecycle(store, log, try await .start(options))
  }

  /// The phase now, and why.
  public var snapshot: LifecycleSnapshot { monitor.snapshot }

  /// The newest update, and then every one that follows.
  /// - Parameter limit: how many may wait for the reader, 1 or more; beyond that the oldest go.
  public func updates(limit: Int = 16) -> BoundedStream<LifecycleUpdate> { monitor.updates(limit: limit) }

  /// A person chooses. When this returns the choice is on disk.
  /// - Returns: what came of it.
  /// - Throws: ``AgentError`` with code `.storage`: nothing has changed then.
  @discardableResult
  public func choose(_ choice: LifecycleChoice) throws(AgentError) -> LifecycleSnapshot {
    try choosing.withLock { _ throws(AgentError) in
      try store.save(choice)
      if choice != monitor.snapshot.choice {
        let phase = choice == .auto ? "what the system says" : "the \(choice)"
        log.append(.lifecycle, "a person has chosen \(phase)")
      }
      monitor.choose(choice)
      return monitor.snapshot
    }
  }

  /// Ends the watching.
  public func close() { monitor.close() }
}
