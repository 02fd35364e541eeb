public import Streams

/// A connection to a device, as its ``ConnectOptions`` want it.
///
/// The device may have another handle after each reconnection, so what works with it starts from the state:
///
/// ```swift
/// let connection = try await adapter.connect(to: address, .keepConnected())
/// for await case .connected(let sensor) in connection.states() {
///   for await value in try await sensor.characteristic("2a37", in: "180d").notifications() { show(value) }
/// }
/// ```
///
/// With `.keepConnected` letting the object go ends the connection, as ``end()`` does; with `.direct` the link stays.
public final class DeviceConnection: Sendable {
  /// Where a connection stands.
  public enum State: Sendable, Hashable {
    /// An attempt is under way.
    case connecting
    /// There is a link, and the services can be used.
    case connected(Device)
    /// Between two attempts, or until the adapter is there again; the error is the last one.
    case waiting(BlueZError)
    /// It is over: by ``end()`` when there is no error.
    case ended(BlueZError?)
  }

  private let dial: Dial

  private init(_ dial: Dial) { self.dial = dial }

  static func start(_ dial: Dial, _ options: ConnectOptions) async throws -> DeviceConnection {
    switch options {
    case .direct: dial.keep(try await dial.connect())
    case .keepConnected: dial.keep(nil)
    }
    return DeviceConnection(dial)
  }

  deinit { dial.abandon() }

  /// Where it stands now.
  public var state: State { dial.state }

  /// The state now, and each that follows; the oldest go when the reader is more than `limit` behind. It finishes with
  /// `.ended`.
  public func states(limit: Int = 16) -> BoundedStream<State> { dial.states(limit: limit) }

  /// The device, as soon as it is connected.
  /// - Throws: ``BlueZError``: `.timedOut`, or the one it ended with; `.notConnected` when it was ended.
  public func device(timeout: Duration = .seconds(60)) async throws -> Device {
    let states = states()
    return try await withTimeout(timeout, "connecting to \(dial.target)") {
      for await state in states {
        switch state {
        case .connected(let device): return device
        case .ended(let error): throw error ?? BlueZError(.notConnected, "the connection was ended")
        case .connecting, .waiting: continue
        }
      }
      throw CancellationError()
    }
  }

  /// Ends the link and all attempts to make it; returns when both are over. Without effect when it has ended already.
  public func end() async { await dial.end() }
}
