public import Streams
public import SystemState

/// The agent's lifecycle phase: the one of the system, or the one that the user chose, which survives a restart.
///
/// ```swift
/// let lifecycle = try await AgentLifecycle.start(store: folder.lifecycle, log: EventLog(path: folder.events))
/// defer { lifecycle.close() }
/// try lifecycle.choose(.background)
/// print(lifecycle.snapshot.phase)
/// ```
public final class AgentLifecycle: Sendable {
  private let store: LifecycleStore
  private let log: EventLog
  private let monitor: LifecycleMonitor
  /// The lock for a choice, so that choices are written and take effect in the same order.
  private let choosing = Lock(())

  private init(_ store: LifecycleStore, _ log: EventLog, _ monitor: LifecycleMonitor) {
    self.store = store
    self.log = log
    self.monitor = monitor
  }

  /// Restores the choice of the user, and monitors the system.
  /// - Parameters:
  ///   - store: The file of the choice.
  ///   - log: The log for changes of the choice.
  ///   - options: The settings of the system's monitor.
  /// - Throws: ``AgentError`` with code `.storage` when the file exists and cannot be read; `CancellationError`.
  public static func start(
    store: LifecycleStore, log: EventLog, options: LifecycleMonitor.Options = LifecycleMonitor.Options()
  ) async throws -> AgentLifecycle {
    let loaded = try store.load()
    if let problem = loaded.problem { log.append(.storage, problem.description) }
    var options = options
    options.choice = loaded.value
    return AgentLifecycle(store, log, try await .start(options))
  }

  /// The present phase, with its reason.
  public var snapshot: LifecycleSnapshot { monitor.snapshot }

  /// Returns the newest update and every one that follows.
  /// - Parameter limit: The number of updates that wait for a slow reader, 1 or more; beyond it the oldest is dropped.
  public func updates(limit: Int = 16) -> BoundedStream<LifecycleUpdate> { monitor.updates(limit: limit) }

  /// Changes the phase as the user chose. When this returns, the choice is on disk.
  /// - Returns: The phase after the change.
  /// - Throws: ``AgentError`` with code `.storage`; nothing has changed then.
  @discardableResult
  public func choose(_ choice: LifecycleChoice) throws(AgentError) -> LifecycleSnapshot {
    try choosing.withLock { _ throws(AgentError) in
      try store.save(choice)
      if choice != monitor.snapshot.choice {
        let phase = choice == .auto ? "that of the system" : "\(choice)"
        log.append(.lifecycle, "the user chose the phase: \(phase)")
      }
      monitor.choose(choice)
      return monitor.snapshot
    }
  }

  /// Stops monitoring the system's phase.
  public func close() { monitor.close() }
}
