internal import Streams
import Timing

/// The publisher of a ``CoordinatorStatus`` for each change of a state machine.
struct CoordinatorStatusPublisher {
  /// An instant of the agent's clock, and by the wall clock.
  private struct WallInstant {
    var instant: Duration
    var ms: Int64
  }

  let source: BoundedStream<CoordinatorStatus>.Source
  private var lastHeartbeat: WallInstant?
  private var nextHeartbeat: WallInstant?
  private var unreachableSince: WallInstant?
  /// The status that was published last.
  private var last: CoordinatorStatus?
  /// The reason why the coordinator cannot be reached.
  var reason: UnreachableReason?

  /// Creates a publisher that yields to a stream.
  init(_ source: BoundedStream<CoordinatorStatus>.Source) { self.source = source }

  /// Publishes the present status, if it has changed: each reader wakes for it.
  mutating func publish(_ machine: CoordinatorMachine, _ client: CoordinatorClient) {
    let options = client.options
    lastHeartbeat = Self.wall(machine.heartbeat.history.last, lastHeartbeat, options)
    // A machine that is refused asks again when the user, or the end of the delay, starts the service again.
    let next = machine.nextControl ?? (machine.isActive ? nil : machine.connection.refusal?.until)
    // While one is under way, its own instant stays.
    if next != nil || !machine.isActive { nextHeartbeat = Self.wall(next, nextHeartbeat, options) }
    unreachableSince = Self.wall(machine.connection.unreachableSince, unreachableSince, options)
    var status = CoordinatorStatus(
      address: client.transport.address, agentID: client.identity.agentID,
      isRegistered: machine.enrolment.state == .registered, lastHeartbeatAtMs: lastHeartbeat?.ms,
      nextHeartbeatAtMs: nextHeartbeat?.ms, problem: machine.connection.failures?.reason)
    status.health.unreachableSinceMs = unreachableSince?.ms
    status.health.unreachableBecause = unreachableSince == nil ? nil : reason
    status.health.heartbeatsFailed = machine.heartbeat.failed
    let counters = machine.work.counters
    status.health.workedMs = counters.workedMs
    status.isWorking = machine.work.hasJob
    status.resultsWaiting = machine.outbox.items.count
    status.jobsDone = counters.done
    status.jobsFailed = counters.failed
    status.jobsCancelled = counters.cancelled
    status.resultsUnwanted = machine.outbox.rejected
    status.dropReasons = counters.drops.counts
    status.heldBecause = machine.isActive ? counters.held : nil
    guard status != last else { return }
    last = status
    source.yield(status)
  }

  /// Returns an instant by the wall clock. The same instant always gives the same result, or the status would change
  /// without end.
  private static func wall(
    _ instant: Duration?, _ known: WallInstant?, _ options: CoordinatorRunner.Options
  ) -> WallInstant? {
    guard let instant, known?.instant != instant else { return instant == nil ? nil : known }
    let ms = (instant - options.time.now).milliseconds(rounded: .towardZero)
    return WallInstant(instant: instant, ms: options.wallClock() + ms)
  }
}
