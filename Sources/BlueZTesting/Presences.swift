import Streams

/// The numbers of the presences of bluetoothd and of its adapters, one after the other.
///
/// A call that reached an instance of bluetoothd must end with it. The actor may take it up only when there is the next
/// one, of which the caller, who has been told of the end, knows nothing.
final class Presences: Sendable {
  private struct State {
    var ofService = 0
    var ofAdapters: [Int: Int] = [:]
  }

  /// A presence of bluetoothd, and in it of an adapter.
  struct Presence: Sendable, Equatable {
    fileprivate let service: Int
    fileprivate let adapter: Int
  }

  private let state = Lock(State())

  /// Returns the present one of an adapter; of bluetoothd itself without one.
  func present(_ adapter: Int?) -> Presence {
    state.withLock { state in
      Presence(service: state.ofService, adapter: adapter.map { state.ofAdapters[$0, default: 0] } ?? 0)
    }
  }

  /// Ends the presence of bluetoothd, and of all adapters with it.
  func endService() { state.withLock { $0.ofService += 1 } }

  func end(_ adapter: Int) { state.withLock { $0.ofAdapters[adapter, default: 0] += 1 } }
}
