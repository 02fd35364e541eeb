import BlueZ
import Streams

/// Whether an adapter can be used: bluetoothd runs, the adapter is there, and it is switched on.
enum AdapterState: Sendable, Equatable {
  case up
  /// Why not, for a person.
  case down(String)

  init(_ adapter: Adapter) {
    if !adapter.session.isServiceUp {
      self = .down("bluetoothd is not there")
    } else if adapter.name == nil {
      self = .down("the adapter \(adapter.address) is not there")
    } else if !adapter.isPowered {
      self = .down("the adapter \(adapter.name ?? "") is switched off")
    } else {
      self = .up
    }
  }

  /// The changes from now on, for one reader.
  static func changes(of adapter: Adapter) -> BoundedStream<AdapterState> {
    let tasks = Lock<[Task<Void, Never>]>([])
    let (stream, source) = BoundedStream.make(
      of: AdapterState.self, limit: 16, onTermination: { for task in tasks.withLock({ $0 }) { task.cancel() } })
    let last = Lock(AdapterState(adapter))
    let look: @Sendable () -> Void = {
      last.withLock { last in
        let now = AdapterState(adapter)
        guard now != last else { return }
        last = now
        source.yield(now)
      }
    }
    let (events, power) = (adapter.session.events(), adapter.values(of: \.isPowered))
    let watchers = [
      Task { for await _ in events { look() } },
      Task { for await _ in power { look() } },
    ]
    tasks.withLock { $0 = watchers }
    look()
    return stream
  }
}
