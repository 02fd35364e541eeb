import DBus
import Streams

/// The background work behind a stream about a device, which ends with the stream, the device or the session.
final class LinkWatch: Sendable {
  /// The end of what is followed.
  enum End: Sendable {
    /// The connection ended.
    case link
    /// bluetoothd has forgotten the device, or has stopped.
    case gone
  }

  private struct State {
    var observers: [Int] = []
    var work: Task<Void, Never>?
    var hasEnded = false
  }

  private let core: SessionCore
  private let path: ObjectPath
  private let state = Lock(State())

  init(_ device: Device) {
    core = device.core
    path = device.path
  }

  /// Starts the work.
  /// - Parameter onEnd: Finishes the stream, which must call ``end()`` then.
  func begin(
    onEnd: @escaping @Sendable () -> Void, when isEnd: @escaping @Sendable (End) -> Bool,
    _ work: @escaping @Sendable () async -> Void
  ) {
    keep { $0.observers.append(self.core.observe { if let end = self.end(in: $0), isEnd(end) { onEnd() } }) }
    keep { $0.work = Task { await work() } }
    if let ending = core.onClose(onEnd) { keep { $0.observers.append(ending) } }
  }

  /// Ends the work; without effect when it has ended.
  func end() {
    let ended = state.withLock { state in
      defer { state = State(hasEnded: true) }
      return state
    }
    ended.work?.cancel()
    for observer in ended.observers { core.stopObserving(observer) }
  }

  /// Keeps what must be ended with the work; the stream may have ended meanwhile.
  private func keep(_ add: (inout State) -> Void) {
    let isLate = state.withLock { state in
      add(&state)
      return state.hasEnded
    }
    if isLate { end() }
  }

  private func end(in change: ObjectCache.Change) -> End? {
    switch change {
    case .serviceDown: .gone
    case .removed(path, let interfaces) where interfaces.contains(Device.interface): .gone
    case .changed(path, Device.interface, let changed, _) where changed["Connected"]?.bool == false: .link
    default: nil
    }
  }
}
