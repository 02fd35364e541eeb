public import Streams
internal import Timing

/// Watches whether and how this machine can reach others, as `NWPathMonitor` does on Apple systems.
///
/// It asks the kernel, through rtnetlink: no root, no daemon and no NetworkManager are needed, and in a container or
/// another network namespace it sees that one. It watches until ``close()`` or until its last reference goes.
public final class NetworkPathMonitor: Sendable {
  /// What the monitor has done so far.
  public struct Statistics: Sendable, Hashable {
    /// How many messages of the kernel were read. Of the changes of routes that lead to some place only, and not out,
    /// the kernel does not even tell.
    public var events = 0
    /// How often messages were lost, because they came too fast; each time everything is read again.
    public var overruns = 0
    /// How often everything was read.
    public var dumps = 0
    /// How often that failed; it is then tried again after a second.
    public var failedDumps = 0
  }

  /// How long ``start(_:)`` waits for the kernel's first answer.
  static let startLimit: Duration = .seconds(5)
  /// How long it waits for NetworkManager's, which is only a hint.
  static let meteredLimit: Duration = .seconds(1)

  private let core: MonitorCore
  private let helpers: [Task<Void, Never>]
  private let metered: BoundedStream<Void>

  /// Opens the sockets in the network namespace of the calling thread, and starts to work.
  init(opening options: Options) throws(NetworkPathError) {
    try options.check()
    let core = try MonitorCore(options)
    try core.startWorking()
    let (metered, source) = BoundedStream.make(of: Void.self, limit: 1)
    var helpers: [Task<Void, Never>] = []
    if let bus = options.networkManagerBus {
      let watch = MeteredWatch(bus: bus) { metered in
        core.put(.metered(metered))
        source.yield(())
      }
      helpers.append(Task { await watch.run() })
    }
    if let probe = options.probe {
      let runner = ProbeRunner(
        probe: probe, interval: options.probeInterval, timeout: options.probeTimeout, logger: options.logger
      ) { core.put(.probed($0, wayOut: $1)) }
      helpers.append(Task { await runner.run(core.waysOut) })
    }
    (self.core, self.helpers, self.metered) = (core, helpers, metered)
  }

  deinit { close() }

  /// Starts to watch, and waits until the first snapshot is there: for at most 5 s, and usually a millisecond.
  /// - Throws: ``NetworkPathError``: `.unavailable` when the kernel refuses, `.limitExceeded`, `.timedOut`,
  ///   `.invalidArgument`; `CancellationError`.
  public static func start(_ options: Options = Options()) async throws -> NetworkPathMonitor {
    let monitor = try NetworkPathMonitor(opening: options)
    try await monitor.waitForFirst()
    return monitor
  }

  /// Waits until there is a snapshot, with NetworkManager's hints when that is quick.
  func waitForFirst() async throws {
    let updates = core.feed.updates(limit: 1)
    if core.options.networkManagerBus != nil { await metered.waitForFirst(within: Self.meteredLimit) }
    await updates.waitForFirst(within: Self.startLimit)
    if core.feed.newest != nil { return }
    close()
    try Task.checkCancellation()
    throw core.problem ?? NetworkPathError(.timedOut, "the kernel does not say what its network is")
  }

  /// The newest snapshot, after its settle time.
  public var path: PathSnapshot { update.path }

  /// The newest update; what ``updates(limit:)`` begins with.
  public var update: PathUpdate {
    core.feed.newest ?? PathUpdate(number: 0, path: PathSnapshot(status: .unsatisfied, obstacle: .noInterface))
  }

  /// The newest update, and then every one that follows, until the monitor is closed.
  ///
  /// Each is whole: a reader that is too slow loses the oldest and knows the present all the same. What it lost, the
  /// gaps in ``PathUpdate/number`` and the count `dropped` of the stream tell.
  /// - Parameter limit: how many may wait for the reader, 1 or more.
  public func updates(limit: Int = 16) -> BoundedStream<PathUpdate> { core.feed.updates(limit: limit) }

  /// Runs tasks on the monitor's own thread, where updates arrive.
  ///
  /// A task that has to act at once and does little, such as one that switches to another radio, saves a change of
  /// threads there: `Task(executorPreference: monitor.executor) { … }`. Whatever blocks or computes for long in such a
  /// task holds up the monitor. After its end the tasks go on on the default executor.
  public var executor: any TaskExecutor { core.executor }

  /// What was done so far.
  public var statistics: Statistics { core.statistics }

  /// Why the streams have ended, or why the newest snapshot may be old: the kernel could not be asked. `nil` when all
  /// is well.
  public var problem: NetworkPathError? { core.problem }

  /// Ends the watching and all streams.
  public func close() {
    for helper in helpers { helper.cancel() }
    core.put(.close)
  }
}
