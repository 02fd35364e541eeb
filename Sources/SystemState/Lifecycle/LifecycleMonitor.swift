public import DBus
public import Logging
public import Streams
internal import Timing

/// A monitor of a program's phase: in the foreground, in the background, or about to sleep with the host.
///
/// It reads logind where that runs, never starts it, and works without logind, bus and root. It runs until ``close()`` or
/// until its last reference is released.
///
/// ```swift
/// let monitor = try await LifecycleMonitor.start()
/// for await update in monitor.updates() {
///   if update.snapshot.phase == .suspending { print("saving: ", update.snapshot.reason) }
/// }
/// ```
public final class LifecycleMonitor: Sendable {
  /// The settings of a lifecycle monitor.
  ///
  /// ```swift
  /// var options = LifecycleMonitor.Options()
  /// options.choice = .background  // as the user chose before a restart
  /// let monitor = try await LifecycleMonitor.start(options)
  /// ```
  public struct Options: Sendable {
    /// The bus of logind; `nil` for a program that follows only the user's choice.
    public var bus: Connection.Bus? = .system
    /// The phase that the user has chosen before the start.
    public var choice = LifecycleChoice.auto
    /// The logger for errors that cannot be returned, such as a call that logind refused.
    public var logger = Logger(label: "edgeblue.lifecycle")

    /// The longest time between two readings of a session: logind sends no signal when its terminal becomes idle. Without
    /// a session, logind is read when it reports something, and every 5 min.
    package var interval: Duration = .seconds(60)

    /// Creates options with the default values.
    public init() {}
  }

  /// The longest time that ``start(_:)`` waits for logind.
  static let startLimit: Duration = .seconds(5)

  private let core: LifecycleCore
  private let tasks: [Task<Void, Never>]

  private init(opening options: Options) {
    let core = LifecycleCore(options)
    tasks = core.news.wake.start(LifecycleWorker(core), every: options.interval) { core.feed.end() }
    self.core = core
  }

  deinit { close() }

  /// Starts a monitor and waits for its first snapshot: for at most 5 s, usually for some milliseconds.
  /// - Throws: `CancellationError`.
  public static func start(_ options: Options = Options()) async throws -> LifecycleMonitor {
    let monitor = LifecycleMonitor(opening: options)
    await monitor.core.feed.updates(limit: 1).waitForFirst(within: startLimit)
    try Task.checkCancellation()
    if monitor.core.feed.newest == nil { monitor.core.handle(.logindGone) }
    return monitor
  }

  /// The newest snapshot of the phase.
  public var snapshot: LifecycleSnapshot { update.snapshot }

  /// The newest update, with which ``updates(limit:)`` begins.
  public var update: LifecycleUpdate {
    guard let newest = core.feed.newest else { preconditionFailure("start() has waited for the first update") }
    return newest
  }

  /// Returns a stream of the newest update and of every later one, until the monitor is closed.
  ///
  /// Each update is complete: a slow reader loses the oldest ones and still gets the current phase. Gaps in
  /// ``LifecycleUpdate/number`` and the stream's `dropped` show the loss.
  /// - Parameter limit: The number of updates that may wait for the reader, 1 or more.
  public func updates(limit: Int = 16) -> BoundedStream<LifecycleUpdate> { core.feed.updates(limit: limit) }

  /// Applies the user's choice; ``snapshot`` reflects it when this returns.
  public func choose(_ choice: LifecycleChoice) { core.handle(.choose(choice)) }

  /// Stops the monitor and ends all its streams.
  public func close() {
    core.close()
    for task in tasks { task.cancel() }
  }
}
