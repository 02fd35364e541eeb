public import Streams
internal import Timing

/// A monitor of the host's network path, like `NWPathMonitor` on Apple systems.
///
/// It reads the kernel's tables through rtnetlink and needs no root, no daemon and no NetworkManager; in a container or
/// another network namespace it monitors that one. It runs until ``close()`` or until its last reference is released.
///
/// ```swift
/// let monitor = try await NetworkPathMonitor.start()
/// for await update in monitor.updates() {
///   for change in update.changes { print(change) }
///   if update.path.status == .satisfied { break }
/// }
/// ```
public final class NetworkPathMonitor: Sendable {
  /// The counters of a monitor since its start.
  public struct Statistics: Sendable, Hashable {
    /// The number of kernel messages read. The kernel filters out changes of routes other than default routes.
    public var events = 0
    /// The number of times that messages were lost because they arrived too fast; each causes a dump.
    public var overruns = 0
    /// The number of complete reads of the kernel's tables.
    public var dumps = 0
    /// The number of failed reads of the kernel's tables; each is retried after 1 s.
    public var failedDumps = 0
  }

  /// The longest time that ``start(_:)`` waits for the kernel's first reply.
  static let startLimit: Duration = .seconds(5)

  private let core: MonitorCore
  private let helpers: [Task<Void, Never>]
  private let metered: WakeSignal

  /// Opens the sockets in the network namespace of the calling thread, and starts the thread.
  convenience init(opening options: Options) throws(NetworkPathError) {
    try options.check()
    try self.init(MonitorCore(options))
  }

  /// Starts the thread of a monitor whose sockets are open.
  init(_ core: MonitorCore) throws(NetworkPathError) {
    let options = core.options
    try core.startWorking()
    let metered = WakeSignal()
    var helpers: [Task<Void, Never>] = []
    if let source = options.meteredSource {
      helpers.append(
        Task {
          await source.follow { estimate in
            core.put(.metered(estimate))
            metered.signal()
          }
        })
    }
    if let probe = options.probe {
      let runner = ProbeRunner(
        probe: probe, interval: options.probeInterval, timeout: options.probeTimeout, logger: options.logger
      ) { core.put(.probed($0, route: $1)) }
      helpers.append(Task { await runner.run(core.routes) })
    }
    self.core = core
    self.helpers = helpers
    self.metered = metered
  }

  deinit { close() }

  /// Starts a monitor and waits for its first snapshot: for at most 5 s, usually for a millisecond.
  ///
  /// With a ``Options/meteredSource`` it also waits for the first estimate, for at most ``Options/meteredTimeout``.
  /// - Throws: ``NetworkPathError``: `.unavailable` when the kernel refuses (see the error's hint), `.limitExceeded` when
  ///   the process is out of descriptors or threads, `.timedOut`, `.invalidArgument`; `CancellationError`.
  public static func start(_ options: Options = Options()) async throws -> NetworkPathMonitor {
    let monitor = try NetworkPathMonitor(opening: options)
    try await monitor.waitForFirst()
    return monitor
  }

  /// Waits for the first snapshot, and for the metered source if it is quick.
  func waitForFirst() async throws {
    let updates = core.feed.updates(limit: 1)
    if core.options.meteredSource != nil {
      await metered.signals.waitForFirst(within: core.options.meteredTimeout)
      core.put(.meteredIsLate)
    }
    await updates.waitForFirst(within: Self.startLimit)
    if core.feed.newest != nil { return }
    close()
    try Task.checkCancellation()
    throw core.problem
      ?? NetworkPathError(.timedOut, "read the kernel's network tables: timed out after \(Self.startLimit)")
  }

  /// The newest snapshot after its settle time.
  public var path: PathSnapshot { update.path }

  /// The newest update, with which ``updates(limit:)`` begins.
  public var update: PathUpdate {
    core.feed.newest ?? PathUpdate(number: 0, path: PathSnapshot(status: .unsatisfied, unsatisfiedReason: .noInterface))
  }

  /// Returns a stream of the newest update and of every later one, until the monitor is closed.
  ///
  /// Each update is complete: a slow reader loses the oldest ones and still gets the current path. Gaps in
  /// ``PathUpdate/number`` and the stream's `dropped` show the loss.
  /// - Parameter limit: The number of updates that may wait for the reader, 1 or more.
  public func updates(limit: Int = 16) -> BoundedStream<PathUpdate> { core.feed.updates(limit: limit) }

  /// The executor that runs tasks on the monitor's own thread, where updates arrive.
  ///
  /// A short task that must react at once, such as one that switches to another radio, saves a change of threads there:
  /// `Task(executorPreference: monitor.executor) { … }`. A task that blocks or computes for long delays the monitor.
  /// After the monitor's end such tasks run on the default executor.
  public var executor: any TaskExecutor { core.executor }

  /// The counters since the monitor's start.
  public var statistics: Statistics { core.statistics }

  /// The error that ended the streams, or that makes the newest snapshot possibly outdated; `nil` without an error.
  public var problem: NetworkPathError? { core.problem }

  /// Stops the monitor and ends all its streams.
  public func close() {
    for helper in helpers { helper.cancel() }
    core.put(.close)
  }
}
