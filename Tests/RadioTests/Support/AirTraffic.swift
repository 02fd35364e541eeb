import Btsnoop
import Streams

/// What passes between the kernel and its controllers, from now on; only root may see it.
final class AirTraffic: Sendable {
  private struct State {
    var decoder = TrafficDecoder()
    var events: [TrafficEvent] = []
  }

  private let state: Lock<State>
  private let monitor: TrafficMonitor

  init() throws {
    let state = Lock(State())
    self.state = state
    monitor = try TrafficMonitor(
      onRecords: { records in
        state.withLock { state in for record in records { state.events += state.decoder.handle(record) } }
      }, onEnd: { _ in })
  }

  deinit { monitor.stop() }

  /// What happened at an adapter up to now.
  /// - Parameter name: The name of the adapter, as in ``Radio/names``.
  func events(at name: String) -> [TrafficEvent.Kind] {
    state.withLock { state in state.events.filter { "hci\($0.adapter)" == name }.map(\.kind) }
  }

  /// The addresses from which an adapter was connected, or to which it connected, in order.
  func peers(of name: String) -> [DeviceAddress] {
    events(at: name).compactMap { event in
      if case .connected(let connection) = event { connection.peer } else { nil }
    }
  }

  /// The channels that were opened at an adapter, in order.
  func channels(at name: String, psm: UInt16) -> [TrafficChannel] {
    events(at: name).compactMap { event in
      if case .channelOpened(let channel, _) = event, channel.psm == psm { channel } else { nil }
    }
  }
}
