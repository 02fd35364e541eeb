import DBus
import Streams

/// The disconnections that go on after the end of the session that started them.
///
/// bluetoothd needs two seconds for one, and reports the device as connected until then. A session of this process that
/// uses the device next waits for it, or it would rely on a connection that is about to end.
final class LateDisconnections: Sendable {
  /// Those of this process.
  static let shared = LateDisconnections()

  /// The object of a device on a bus.
  struct Link: Sendable, Hashable {
    let bus: Connection.Bus
    let device: ObjectPath
  }

  private struct State {
    /// The links that wait for a response of their peers, with the number of sessions that end them.
    var unanswered: [Link: Int] = [:]
    /// The links whose disconnection was requested, with the number of the last request.
    var requested: [Link: Int] = [:]
    var requests = 0
    var observers: [Int: @Sendable () -> Void] = [:]
    var nextObserver = 0

    mutating func release(_ link: Link) {
      let left = unanswered[link, default: 1] - 1
      unanswered[link] = left == 0 ? nil : left
    }
  }

  private let state = Lock(State())
  private let limit: Duration

  /// - Parameter limit: The time after which a link that was to be disconnected still is there for another reason: another
  ///   program uses it, or bluetoothd has refused.
  init(limit: Duration = .seconds(5)) { self.limit = limit }

  /// Records links that end once their peers have responded; ``request(_:)`` or ``ended(_:)`` must follow for each.
  func begin(_ links: [Link]) {
    state.withLock { state in
      for link in links { state.unanswered[link, default: 0] += 1 }
    }
  }

  /// Records that bluetoothd has the request to end a link.
  func request(_ link: Link, wasUnanswered: Bool) {
    let number = change { state in
      if wasUnanswered { state.release(link) }
      state.requests += 1
      state.requested[link] = state.requests
      return state.requests
    }
    Task {
      try await Task.sleep(for: limit)
      change { state in
        if state.requested[link] == number { state.requested[link] = nil }
      }
    }
  }

  /// Records that a link has ended by itself, or cannot be ended.
  func ended(_ link: Link) { change { $0.release(link) } }

  /// Returns `true` while a link, which bluetoothd may report as connected, is about to end.
  func isUnderWay(_ link: Link, isConnected: Bool) -> Bool {
    state.withLock { state in state.unanswered[link] != nil || (isConnected && state.requested[link] != nil) }
  }

  /// Records that bluetoothd reports the device as disconnected: the next link is another one.
  func disconnected(_ link: Link) { state.withLock { $0.requested[link] = nil } }

  /// Registers a closure for changes.
  func observe(_ observer: @escaping @Sendable () -> Void) -> Int {
    state.withLock { state in
      defer { state.nextObserver += 1 }
      state.observers[state.nextObserver] = observer
      return state.nextObserver
    }
  }

  func stopObserving(_ id: Int) { state.withLock { $0.observers[id] = nil } }

  @discardableResult
  private func change<R>(_ body: (inout State) -> R) -> R {
    let (result, observers) = state.withLock { state in (body(&state), Array(state.observers.values)) }
    for observer in observers { observer() }
    return result
  }
}
