public import DBus
public import Logging
public import Streams

/// Keeps the machine from sleeping in the middle of something, where logind puts it to sleep, and only while needed.
///
/// Whoever is in the middle of something has a ``Use``. With the first one an inhibitor is taken, with the last one, or
/// when the activity goes, it is let go, once. A logind that comes later or is started again is asked anew. Without one,
/// and without any bus, an activity does nothing.
public final class BackgroundActivity: Sendable {
  /// What an inhibitor does to sleep.
  public enum Mode: String, Sendable, Hashable, CaseIterable {
    /// Sleep waits until it is let go, but for no longer than logind's `InhibitDelayMaxSec`: 5 s unless an administrator
    /// says otherwise. Where polkit runs every program may have it, elsewhere root's. Hear by a ``LifecycleMonitor`` that the machine is about to sleep, and
    /// come to an end.
    case delay
    /// The machine does not sleep until it is let go, unless a person insists. logind grants it to root and to who sits
    /// at the machine.
    case block
  }

  /// What is asked for.
  public struct Options: Sendable {
    /// Where logind is asked, if it runs; `nil` for not at all.
    public var bus: Connection.Bus? = .system
    /// What it does to sleep.
    public var mode = Mode.delay
    /// Which program it is, for people: `systemd-inhibit --list` shows it.
    public var who = "EdgeBlue"
    /// What it is in the middle of, for people.
    public var why = "work is under way"
    /// Gets what nobody can be told, such as why logind refused.
    public var logger = Logger(label: "edgeblue.activity")

    /// How often one that refused is asked again.
    package var interval: Duration = .seconds(30)

    /// The defaults.
    public init() {}
  }

  /// What has become of the inhibitor.
  public enum State: Sendable, Hashable {
    /// Nobody needs it.
    case released
    /// It is needed, and not there: there is no logind, or it has not answered yet.
    case waiting
    /// It is there.
    case held
    /// It is needed and logind has refused it, for this reason; it is asked again every 30 s.
    case refused(String)
  }

  private let core: ActivityCore
  private let tasks: [Task<Void, Never>]

  /// Makes an activity that nobody needs yet; logind is asked when somebody does.
  public init(_ options: Options = Options()) {
    let core = ActivityCore(options)
    let worker = ActivityWorker(core)
    tasks = [Task { await worker.run() }, every(options.interval) { core.announceNews() }]
    self.core = core
  }

  deinit { close() }

  /// What has become of the inhibitor.
  public var state: State { core.feed.newest ?? .released }

  /// The state now, and then every one that follows, until the activity is closed.
  /// - Parameter limit: how many may wait for the reader, 1 or more; beyond that the oldest go.
  public func states(limit: Int = 16) -> BoundedStream<State> { core.feed.updates(limit: limit) }

  /// Something begins that the machine should not sleep through. Returns at once: whether logind has agreed by then,
  /// ``state`` tells.
  public func begin() -> Use {
    core.handle(.begin)
    core.announceNews()
    return Use(core)
  }

  /// Lets the inhibitor go, whoever needs it, and takes none again.
  public func close() {
    core.close()
    for task in tasks { task.cancel() }
  }

  /// That something is under way; until ``end()``, or until its last reference goes.
  public final class Use: Sendable {
    private let core: Lock<ActivityCore?>

    init(_ core: ActivityCore) { self.core = Lock(core) }

    deinit { end() }

    /// It is not any more. When it was the last, the inhibitor is let go before this returns; later calls do nothing.
    public func end() {
      let core = core.withLock { core in
        defer { core = nil }
        return core
      }
      core?.handle(.end)
    }
  }
}
