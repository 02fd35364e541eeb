import BlueZ
import Streams

/// The availability of an adapter: bluetoothd runs, the adapter is present, and it is powered.
enum AdapterState: Sendable, Equatable {
  case up
  /// The adapter is unavailable, with the reason for display.
  case down(String)

  init(_ adapter: Adapter) {
    if !adapter.session.isServiceUp {
      self = .down("bluetoothd is not running")
    } else if adapter.name == nil {
      self = .down("the adapter \(adapter.address) is not present")
    } else if !adapter.isPowered {
      self = .down("the adapter \(adapter.name ?? "") is powered off")
    } else {
      self = .up
    }
  }

  /// Returns a stream of the changes from now on, for one consumer.
  static func changes(of adapter: Adapter) -> BoundedStream<AdapterState> {
    let tasks = Lock<[Task<Void, Never>]>([])
    let (stream, source) = BoundedStream.make(
      of: AdapterState.self, limit: 16, onTermination: { for task in tasks.withLock({ $0 }) { task.cancel() } })
    let last = Lock(AdapterState(adapter))
    let update: @Sendable () -> Void = {
      last.withLock { last in
        let now = AdapterState(adapter)
        guard now != last else { return }
        last = now
        source.yield(now)
      }
    }
    let events = adapter.session.events()
    let power = adapter.values(of: \.isPowered)
    let watchers = [
      Task { for await _ in events { update() } },
      Task { for await _ in power { update() } },
    ]
    tasks.withLock { $0 = watchers }
    update()
    return stream
  }
}
