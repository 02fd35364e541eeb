import Streams
import Timing

/// A fault of an adapter, of bluetoothd's part behind it, or of its connections.
///
/// A fault with a count ends by itself; every other one lasts until ``FakeAdapter/repair()``.
///
/// ```swift
/// let lab = try await FakeBlueZ.start()
/// lab.adapters[1].inject(.slowServices(.seconds(2)))
/// lab.adapters[1].inject(.notificationsDrop(every: 10))
/// ```
public enum Fault: Sendable, Hashable {
  /// The next connection attempts fail with `le-connection-abort-by-local`, as when the controller scans.
  case connectAborts(times: Int)
  /// `Connect` does not return until the attempt is ended with `Disconnect`.
  case connectHangs
  /// `Connect` returns this much later than the connection is established.
  case lateConnects(Duration)
  /// The services of the next connections are not resolved.
  case servicesNeverResolve(times: Int)
  /// Reading the services takes this much longer.
  case slowServices(Duration)
  /// A connection that is being ended lasts this much longer, and `Connect` still finds it; bluetoothd needs 2 s.
  case slowDisconnects(Duration)
  /// The property `Connected` changes without a signal, as in bluetoothd 5.66 now and then.
  case connectedIsNotSignalled
  /// The next calls of `StartDiscovery` fail with `org.bluez.Error.InProgress`.
  case discoveryInProgress(times: Int)
  /// The next calls of `StopDiscovery` fail and the scan continues, as when the kernel is between two rounds.
  case discoveryGoesOn(times: Int)
  /// The next calls of `StopDiscovery` fail, and the scan ends while `Discovering` stays true: `StartDiscovery` succeeds
  /// without a scan until a filter differs, as when bluetoothd is just restarting the scan in the kernel.
  case discoverySticks(times: Int)
  /// Advertisements do not change the services of devices that are known, as with bluetoothd 5.82 after a connection
  /// over which it read none.
  case advertisedServicesAreIgnored
  /// The next calls of `RemoveDevice` are neither served nor answered, as by bluetoothd 5.82 now and then when the
  /// connection ends at the same time.
  case removalsIgnored(times: Int)
  /// Every call is served this much later. For the calls of bluetoothd's own object, those of agents, the first
  /// adapter's fault counts.
  case slowReplies(Duration)
  /// Every call is served at once and answered this much later, so that a caller that does not wait has had it done.
  case lateReplies(Duration)
  /// The host of the adapter has no LE Secure Connections: it pairs by legacy pairing. Where such hosts would have a
  /// passkey entered, the fake has the users compare a number.
  case pairsWithoutSecureConnections
  /// The adapter cannot be switched on, as when `rfkill` blocks it.
  case blocked
  /// Notifications to this adapter wait, at most ``Fault/stalledLimit`` of each characteristic, and arrive at once
  /// after the repair.
  case notificationsStall
  /// No packet of an L2CAP channel arrives at this adapter until the repair, as when its programs read nothing and the
  /// peers' credits are used up.
  case channelsStall
  /// Every n-th notification to this adapter is lost, as when the socket to a slow reader is full.
  case notificationsDrop(every: Int)

  /// The largest number of notifications of a characteristic that wait while they stall; further ones are lost.
  public static let stalledLimit = 1024
}

/// The faults of one adapter, read by the daemon and by the thread that delivers notifications.
final class Faults: Sendable {
  private struct State {
    var active: [Fault] = []
    var notifications = 0
    var repairs = 0
    var onRepair: [Int: @Sendable () -> Void] = [:]
    var onChannelsStall: (@Sendable (Bool) -> Void)?
    var nextID = 0
  }

  private let state = Lock(State())

  func inject(_ fault: Fault) {
    let stall = state.withLock { state in
      state.active.append(fault)
      return state.onChannelsStall
    }
    if fault == .channelsStall { stall?(true) }
  }

  func repair() {
    let (wake, stall) = state.withLock { state in
      state.active = []
      state.repairs += 1
      return (Array(state.onRepair.values), state.onChannelsStall)
    }
    for body in wake { body() }
    stall?(false)
  }

  /// Sets the handler that is called when L2CAP channels stall, and with `false` at each repair.
  func onChannelsStall(_ body: @escaping @Sendable (Bool) -> Void) { state.withLock { $0.onChannelsStall = body } }

  /// Registers a handler that is called at each repair.
  /// - Returns: The identifier to remove it with.
  func onRepair(_ body: @escaping @Sendable () -> Void) -> Int {
    state.withLock { state in
      state.nextID += 1
      state.onRepair[state.nextID] = body
      return state.nextID
    }
  }

  /// Waits for as long as a disconnection lasts, or until the next repair: a fake that is stopped keeps nothing waiting.
  func delayDisconnection() async {
    let repairs = repairs
    let delay = disconnectDelay
    guard delay > .zero else { return }
    await withTaskGroup { group in
      group.addTask { await self.waitForRepair(after: repairs) }
      // Cancelled when the repair comes first.
      group.addTask { try? await Task.sleep(for: delay, clock: .steady) }
      await group.next()
      group.cancelAll()
    }
  }

  /// The number of repairs so far. Who looks for a fault and then waits for its repair takes it before that.
  var repairs: Int { state.withLock { $0.repairs } }

  /// Waits until there was a repair after some others, or until the task is cancelled.
  func waitForRepair(after earlier: Int) async {
    let (repaired, source) = BoundedStream.make(of: Void.self, limit: 1)
    let id = onRepair { source.finish() }
    defer { stop(onRepair: id) }
    if repairs != earlier { return }
    for await _ in repaired {}
  }

  func stop(onRepair id: Int) { state.withLock { $0.onRepair[id] = nil } }

  /// Consumes one occurrence of a fault with a count.
  /// - Parameter count: Returns the count for the requested fault, and the fault with another count.
  private func use(_ count: (Fault) -> (Int, (Int) -> Fault)?) -> Bool {
    state.withLock { state in
      for (index, fault) in state.active.enumerated() {
        guard let (left, make) = count(fault), left > 0 else { continue }
        if left == 1 { state.active.remove(at: index) } else { state.active[index] = make(left - 1) }
        return true
      }
      return false
    }
  }

  func abortsConnect() -> Bool {
    use { if case .connectAborts(let times) = $0 { (times, Fault.connectAborts) } else { nil } }
  }

  func leavesServicesUnresolved() -> Bool {
    use { if case .servicesNeverResolve(let times) = $0 { (times, Fault.servicesNeverResolve) } else { nil } }
  }

  func refusesDiscovery() -> Bool {
    use { if case .discoveryInProgress(let times) = $0 { (times, Fault.discoveryInProgress) } else { nil } }
  }

  func ignoresRemoval() -> Bool {
    use { if case .removalsIgnored(let times) = $0 { (times, Fault.removalsIgnored) } else { nil } }
  }

  func refusesToStopDiscovery() -> Bool {
    use { if case .discoveryGoesOn(let times) = $0 { (times, Fault.discoveryGoesOn) } else { nil } }
  }

  func sticksDiscovery() -> Bool {
    use { if case .discoverySticks(let times) = $0 { (times, Fault.discoverySticks) } else { nil } }
  }

  func has(_ fault: Fault) -> Bool { state.withLock { $0.active.contains(fault) } }

  /// The time between the work of a call and its reply.
  var lateness: Duration { sum { if case .lateReplies(let delay) = $0 { delay } else { nil } } }

  /// The additional time of a reply.
  var delay: Duration { sum { if case .slowReplies(let delay) = $0 { delay } else { nil } } }

  /// The time from the connection to the reply of `Connect`.
  var connectDelay: Duration { sum { if case .lateConnects(let delay) = $0 { delay } else { nil } } }

  /// The additional time for reading the services.
  var servicesDelay: Duration { sum { if case .slowServices(let delay) = $0 { delay } else { nil } } }

  /// The additional time of a connection that is being ended.
  var disconnectDelay: Duration { sum { if case .slowDisconnects(let delay) = $0 { delay } else { nil } } }

  private func sum(_ delay: (Fault) -> Duration?) -> Duration {
    state.withLock { $0.active.compactMap(delay).reduce(.zero, +) }
  }

  /// Returns `true` if the present notification is lost.
  func dropsNotification() -> Bool {
    state.withLock { state in
      state.notifications += 1
      return state.active.contains { fault in
        if case .notificationsDrop(let every) = fault { state.notifications % max(every, 1) == 0 } else { false }
      }
    }
  }
}
