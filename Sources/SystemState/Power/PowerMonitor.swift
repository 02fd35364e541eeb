public import Streams
internal import Timing

/// Watches what this machine runs on: power from outside or a battery, how full that is, and whether to save power.
///
/// It asks UPower and power-profiles-daemon where they run, and the kernel's files elsewhere; it starts none of them,
/// and changes over when they come and go. It needs no root. It watches until ``close()`` or until its last reference
/// goes.
public final class PowerMonitor: Sendable {
  /// How long ``start(_:)`` waits for the daemons before it takes the kernel's word.
  static let startLimit: Duration = .seconds(5)

  private let core: PowerCore
  private let tasks: [Task<Void, Never>]

  private init(opening options: Options) throws(PowerError) {
    try options.check()
    let core = PowerCore(options)
    let worker = PowerWorker(core)
    core.announceNews()
    tasks = [Task { await worker.run() }, every(options.interval) { core.announceNews() }]
    self.core = core
  }

  deinit { close() }

  /// Starts to watch, and waits until the first snapshot is there: for at most 5 s, and usually some milliseconds.
  /// - Throws: ``PowerError`` with code `.invalidArgument`; `CancellationError`.
  public static func start(_ options: Options = Options()) async throws -> PowerMonitor {
    let monitor = try PowerMonitor(opening: options)
    await monitor.core.feed.updates(limit: 1).waitForFirst(within: startLimit)
    try Task.checkCancellation()
    if monitor.core.feed.newest == nil { monitor.core.handle(monitor.core.folder.read(), nil) }
    return monitor
  }

  /// The newest snapshot. The time in it is that of the newest reading, also when that brought no change.
  public var snapshot: PowerSnapshot { update.snapshot }

  /// The values of the newest snapshot.
  public var telemetry: PowerTelemetry { snapshot.telemetry }

  /// The newest update; what ``updates(limit:)`` begins with.
  public var update: PowerUpdate {
    guard let newest = core.feed.newest else { preconditionFailure("start() has waited for the first update") }
    return newest
  }

  /// The newest update, and then every one that follows, until the monitor is closed.
  ///
  /// Each is whole: a reader that is too slow loses the oldest and knows the present all the same. What it lost, the
  /// gaps in ``PowerUpdate/number`` and the count `dropped` of the stream tell.
  /// - Parameter limit: how many may wait for the reader, 1 or more.
  public func updates(limit: Int = 16) -> BoundedStream<PowerUpdate> { core.feed.updates(limit: limit) }

  /// Has the sources asked again now instead of at the next interval; what has changed comes as an update.
  public func refresh() { core.announceNews() }

  /// Ends the watching and all streams.
  public func close() {
    core.close()
    for task in tasks { task.cancel() }
  }
}
