public import DBus
public import Logging
public import Streams
internal import Timing

/// Watches whether a program is in the foreground, in the background, or about to be put to sleep with the machine.
///
/// It asks logind where that runs, starts it nowhere, and works without it, without any bus and without root. It watches
/// until ``close()`` or until its last reference goes.
public final class LifecycleMonitor: Sendable {
  /// How to watch.
  public struct Options: Sendable {
    /// Where logind is asked, if it runs; `nil` for not at all.
    public var bus: Connection.Bus? = .system
    /// What a person chose before.
    public var choice = LifecycleChoice.auto
    /// Gets what nobody can be told, such as why logind did not answer.
    public var logger = Logger(label: "edgeblue.lifecycle")

    /// How often all is asked anew: of a terminal that nobody types at logind tells only who asks.
    package var interval: Duration = .seconds(30)

    /// The defaults.
    public init() {}
  }

  /// How long ``start(_:)`` waits for logind before it goes on without.
  static let startLimit: Duration = .seconds(5)

  private let core: LifecycleCore
  private let tasks: [Task<Void, Never>]

  private init(opening options: Options) {
    let core = LifecycleCore(options)
    let worker = LifecycleWorker(core)
    core.announceNews()
    tasks = [Task { await worker.run() }, every(options.interval) { core.announceNews() }]
    self.core = core
  }

  deinit { close() }

  /// Starts to watch, and waits until the first snapshot is there: for at most 5 s, and usually some milliseconds.
  /// - Throws: `CancellationError`.
  public static func start(_ options: Options = Options()) async throws -> LifecycleMonitor {
    let monitor = LifecycleMonitor(opening: options)
    await monitor.core.feed.updates(limit: 1).waitForFirst(within: startLimit)
    try Task.checkCancellation()
    if monitor.core.feed.newest == nil { monitor.core.handle(.logindGone) }
    return monitor
  }

  /// The newest snapshot.
  public var snapshot: LifecycleSnapshot { update.snapshot }

  /// The newest update; what ``updates(limit:)`` begins with.
  public var update: LifecycleUpdate {
    guard let newest = core.feed.newest else { preconditionFailure("start() has waited for the first update") }
    return newest
  }

  /// The newest update, and then every one that follows, until the monitor is closed.
  ///
  /// Each is whole: a reader that is too slow loses the oldest and knows the present all the same. What it lost, the
  /// gaps in ``LifecycleUpdate/number`` and the count `dropped` of the stream tell.
  /// - Parameter limit: how many may wait for the reader, 1 or more.
  public func updates(limit: Int = 16) -> BoundedStream<LifecycleUpdate> { core.feed.updates(limit: limit) }

  /// A person chooses; ``snapshot`` has what came of it when this returns.
  public func choose(_ choice: LifecycleChoice) { core.handle(.choose(choice)) }

  /// Ends the watching and all streams.
  public func close() {
    core.close()
    for task in tasks { task.cancel() }
  }
}
