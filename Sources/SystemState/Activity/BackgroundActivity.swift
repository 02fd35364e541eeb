public import DBus
public import Logging
public import Streams
internal import Timing

/// An inhibitor of logind that delays or blocks the sleep of the host while work is under way.
///
/// Each piece of work is a ``Use``. The first use takes an inhibitor; the end of the last one, or of the activity, releases
/// it. A logind that starts later, or restarts, is asked again. Without logind or a bus, an activity has no effect.
///
/// ```swift
/// let activity = BackgroundActivity()
/// let use = activity.begin()
/// defer { use.end() }
/// // Save, upload … the host does not sleep in the middle of it.
/// ```
public final class BackgroundActivity: Sendable {
  /// The effect of an inhibitor on sleep.
  public enum Mode: String, Sendable, Hashable, CaseIterable {
    /// Sleep waits until the inhibitor is released, but at most for logind's `InhibitDelayMaxSec`, 5 s by default.
    ///
    /// Where polkit runs every program may take one, elsewhere only root. Combine it with a ``LifecycleMonitor``, which
    /// reports that the host is about to sleep, and finish the work then.
    case delay
    /// The host does not sleep until the inhibitor is released, unless the user insists.
    ///
    /// logind grants this mode to root and to the user at the seat.
    case block
  }

  /// The settings of a background activity.
  ///
  /// ```swift
  /// var options = BackgroundActivity.Options()
  /// options.why = "recordings are being uploaded"
  /// let activity = BackgroundActivity(options)
  /// print(activity.state)
  /// ```
  public struct Options: Sendable {
    /// The bus of logind; `nil` for an activity without effect.
    public var bus: Connection.Bus? = .system
    /// The effect of the inhibitor on sleep.
    public var mode = Mode.delay
    /// The name of the program for display, which `systemd-inhibit --list` shows.
    public var who = "EdgeBlue"
    /// The reason for display, which `systemd-inhibit --list` shows.
    public var why = "work is under way"
    /// The logger for errors that cannot be returned, such as a refusal of logind.
    public var logger = Logger(label: "edgeblue.activity")

    /// The longest time until a logind that refused is asked again.
    package var interval: Duration = .seconds(60)

    /// Creates options with the default values.
    public init() {}
  }

  /// The state of an activity's inhibitor.
  public enum State: Sendable, Hashable {
    /// No use needs the inhibitor.
    case released
    /// The inhibitor is needed; no logind runs, or it has not replied yet.
    case waiting
    /// The inhibitor is held, and sleep is delayed or blocked.
    case held
    /// logind has refused the inhibitor, for this reason; it is asked again within a minute.
    case refused(String)
  }

  private let core: ActivityCore
  private let tasks: [Task<Void, Never>]

  /// Creates an activity without a use; the first use connects to logind.
  public init(_ options: Options = Options()) {
    let core = ActivityCore(options)
    let worker = ActivityWorker(core)
    tasks = [Task { await worker.run() }, Task { await core.wake.signal(every: options.interval) }]
    self.core = core
  }

  deinit { close() }

  /// The current state of the inhibitor.
  public var state: State { core.feed.newest ?? .released }

  /// Returns a stream of the current state and of every later one, until the activity is closed.
  /// - Parameter limit: The number of states that may wait for the reader, 1 or more; beyond that the oldest are dropped.
  public func states(limit: Int = 16) -> BoundedStream<State> { core.feed.updates(limit: limit) }

  /// Begins a use without waiting for logind; ``state`` says whether the inhibitor is held.
  public func begin() -> Use {
    core.handle(.begin)
    core.wake.signal()
    return Use(core)
  }

  /// Releases the inhibitor, also while uses need it, and takes no other one.
  public func close() {
    core.close()
    for task in tasks { task.cancel() }
  }

  /// A piece of work that the host should not sleep through, until ``end()`` or until its last reference is released.
  public final class Use: Sendable {
    private let core: Lock<ActivityCore?>

    init(_ core: ActivityCore) { self.core = Lock(core) }

    deinit { end() }

    /// Ends the use; further calls have no effect.
    ///
    /// The end of the last use releases the inhibitor before this returns.
    public func end() {
      let core = core.withLock { core in
        defer { core = nil }
        return core
      }
      core?.handle(.end)
    }
  }
}
