public import Streams

/// A connection to a device that follows its ``ConnectOptions``.
///
/// The device may have a new handle after each reconnection, so code that uses it starts from the state:
///
/// ```swift
/// let connection = try await adapter.connect(to: address, .keepConnected())
/// for await case .connected(let sensor) in connection.states() {
///   for try await value in try await sensor.characteristic("2a37", in: "180d").notifications() { print(value) }
/// }
/// ```
///
/// With `.keepConnected`, releasing the object ends the connection, as ``end()`` does; with `.direct` the device stays
/// connected until the session ends, see ``LinkLifetime``.
public final class DeviceConnection: Sendable {
  /// The state of a connection that follows a policy.
  public enum State: Sendable, Hashable {
    /// An attempt to connect is under way.
    case connecting
    /// The device is connected, and its services can be used.
    case connected(Device)
    /// The delay between two attempts, or the wait for the adapter; the error is that of the last attempt.
    case waiting(BlueZError)
    /// The connection ended for good: by ``end()`` when there is no error, and with the session.
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

  /// The present state of the connection.
  public var state: State { dial.state }

  /// Returns the present state and all later ones. The stream finishes with `.ended`.
  /// - Parameter limit: The capacity of the stream; when it is full the oldest states are dropped.
  public func states(limit: Int = 16) -> BoundedStream<State> { dial.states(limit: limit) }

  /// Waits until the device is connected.
  /// - Returns: The connected device.
  /// - Throws: ``BlueZError``: `.timedOut`, or the error with which the connection ended; `.notConnected` after
  ///   ``end()``.
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
      throw self.dial.adapter.core.errorOfAnEndedStream()
    }
  }

  /// Disconnects and stops all attempts to connect; returns when both is done. Without effect after the end. A link
  /// that another program made stays, unless it was taken over, see ``LinkLifetime``.
  public func end() async { await dial.end() }
}
