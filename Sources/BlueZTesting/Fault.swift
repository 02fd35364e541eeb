import Streams

/// A fault of an adapter, of the daemon's part behind it, or of its links.
///
/// A fault with a count wears off by itself; every other one lasts until ``FakeAdapter/repair()``.
public enum Fault: Sendable, Hashable {
  /// The next so many attempts to connect end with `le-connection-abort-by-local`, as when the controller scans.
  case connectAborts(times: Int)
  /// `Connect` is not answered until it is given up with `Disconnect`.
  case connectHangs
  /// `Connect` is answered so much later than the link is there.
  case lateConnects(Duration)
  /// On the next so many links the services are not resolved.
  case servicesNeverResolve(times: Int)
  /// Reading the services takes so much longer.
  case slowServices(Duration)
  /// A link that is to be ended lasts so much longer, and `Connect` finds it meanwhile; with bluetoothd it is 2 s.
  case slowDisconnects(Duration)
  /// `Connected` changes without a signal, as bluetoothd 5.66 does now and then.
  case connectedIsNotSignalled
  /// The next so many calls of `StartDiscovery` end with `org.bluez.Error.InProgress`.
  case discoveryInProgress(times: Int)
  /// The next so many calls of `StopDiscovery` do, and the scan goes on, as when the kernel is between two rounds.
  case discoveryGoesOn(times: Int)
  /// Every answer to a call takes so much longer.
  case slowReplies(Duration)
  /// Notifications to this adapter wait, at most ``Fault/stalledLimit`` of each characteristic, and come all at once
  /// when it is repaired.
  case notificationsStall
  /// Every n-th notification to this adapter is lost, as when the socket to a slow reader is full.
  case notificationsDrop(every: Int)

  /// How many notifications of a characteristic wait while they stall; beyond that they are lost.
  public static let stalledLimit = 1024
}

/// The faults of one adapter. Asked from the daemon and from the thread that hands notifications on.
final class Faults: Sendable {
  private struct State {
    var active: [Fault] = []
    var notifications = 0
    var onRepair: [Int: @Sendable () -> Void] = [:]
    var nextID = 0
  }

  private let state = Lock(State())

  func inject(_ fault: Fault) { state.withLock { $0.active.append(fault) } }

  func repair() {
    let wake = state.withLock { state in
      state.active = []
      return Array(state.onRepair.values)
    }
    for body in wake { body() }
  }

  /// Has something done at each repair.
  /// - Returns: the number to end that with.
  func onRepair(_ body: @escaping @Sendable () -> Void) -> Int {
    state.withLock { state in
      state.nextID += 1
      state.onRepair[state.nextID] = body
      return state.nextID
    }
  }

  func stop(onRepair id: Int) { state.withLock { $0.onRepair[id] = nil } }

  /// Uses up one time of a fault with a count.
  /// - Parameter count: the count when it is the fault asked for, and the fault with another count.
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

  func refusesToStopDiscovery() -> Bool {
    use { if case .discoveryGoesOn(let times) = $0 { (times, Fault.discoveryGoesOn) } else { nil } }
  }

  func has(_ fault: Fault) -> Bool { state.withLock { $0.active.contains(fault) } }

  /// How much longer an answer takes.
  var delay: Duration { sum { if case .slowReplies(let delay) = $0 { delay } else { nil } } }

  /// How much later than the link the answer to `Connect` comes.
  var connectDelay: Duration { sum { if case .lateConnects(let delay) = $0 { delay } else { nil } } }

  /// How much longer it takes to read the services.
  var servicesDelay: Duration { sum { if case .slowServices(let delay) = $0 { delay } else { nil } } }

  /// How much longer a link lasts that is to be ended.
  var disconnectDelay: Duration { sum { if case .slowDisconnects(let delay) = $0 { delay } else { nil } } }

  private func sum(_ delay: (Fault) -> Duration?) -> Duration {
    state.withLock { $0.active.compactMap(delay).reduce(.zero, +) }
  }

  /// Whether the notification that comes now is lost.
  func dropsNotification() -> Bool {
    state.withLock { state in
      state.notifications += 1
      return state.active.contains { fault in
        if case .notificationsDrop(let every) = fault { state.notifications % max(every, 1) == 0 } else { false }
      }
    }
  }
}
