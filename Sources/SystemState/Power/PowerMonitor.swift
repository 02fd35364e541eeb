public import Streams
internal import Timing

/// A monitor of the host's power: external power or battery, the battery level, and the low power mode.
///
/// It reads UPower and power-profiles-daemon where they run, and the kernel's files elsewhere; it starts no daemon, and
/// follows them when they start and stop. It needs no root. It runs until ``close()`` or until its last reference is
/// released.
///
/// ```swift
/// let monitor = try await PowerMonitor.start()
/// print("on external power:", monitor.telemetry.onExternalPower)
/// for await update in monitor.updates() {
///   for change in update.changes { print(change) }
/// }
/// ```
public final class PowerMonitor: Sendable {
  /// The longest time that ``start(_:)`` waits for the daemons before it reads the kernel's files.
  static let startLimit: Duration = .seconds(5)

  private let core: PowerCore
  private let tasks: [Task<Void, Never>]
  private let events: SupplyEvents?

  private init(opening options: Options) throws(PowerError) {
    try options.check()
    let core = PowerCore(options)
    events = core.followEvents()
    tasks = core.news.wake.start(PowerWorker(core), every: options.interval) { core.feed.end() }
    self.core = core
  }

  deinit { close() }

  /// Starts a monitor and waits for its first snapshot: for at most 5 s, usually for some milliseconds.
  /// - Throws: ``PowerError`` with code `.invalidArgument` when an option is out of range; `CancellationError`.
  public static func start(_ options: Options = Options()) async throws -> PowerMonitor {
    let monitor = try PowerMonitor(opening: options)
    await monitor.core.feed.updates(limit: 1).waitForFirst(within: startLimit)
    try Task.checkCancellation()
    if monitor.core.feed.newest == nil { monitor.core.handle(.read(monitor.core.folder.read(), nil)) }
    return monitor
  }

  /// The newest snapshot, with the time of the newest reading, even if that brought no change.
  public var snapshot: PowerSnapshot { update.snapshot }

  /// The telemetry of the newest snapshot.
  public var telemetry: PowerTelemetry { snapshot.telemetry }

  /// The newest update, with which ``updates(limit:)`` begins.
  public var update: PowerUpdate {
    guard let newest = core.feed.newest else { preconditionFailure("start() has waited for the first update") }
    return newest
  }

  /// Returns a stream of the newest update and of every later one, until the monitor is closed.
  ///
  /// Each update is complete: a slow reader loses the oldest ones and still gets the current state. Gaps in
  /// ``PowerUpdate/number`` and the stream's `dropped` show the loss.
  /// - Parameter limit: The number of updates that may wait for the reader, 1 or more.
  public func updates(limit: Int = 16) -> BoundedStream<PowerUpdate> { core.feed.updates(limit: limit) }

  /// Starts a reading of all sources now instead of at the next interval; changes arrive as an update.
  public func refresh() { core.news.report() }

  /// Stops the monitor and ends all its streams.
  public func close() {
    core.close()
    events?.close()
    for task in tasks { task.cancel() }
  }
}
