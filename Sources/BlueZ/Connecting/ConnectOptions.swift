/// The policy for connecting to a device: once, or again whenever the connection is lost.
///
/// ```swift
/// _ = try await device.connect(.direct(timeout: .seconds(5), attempts: 1))
/// let connection = try await adapter.connect(to: address, .keepConnected(longestDelay: .seconds(10)))
/// print(connection.state)
/// ```
public enum ConnectOptions: Sendable, Hashable {
  /// A single connection, which succeeds or fails with the reason.
  /// - Parameters:
  ///   - timeout: The longest time for each phase of an attempt: discovering a device that is not known yet,
  ///     connecting, and reading the services.
  ///   - attempts: The number of attempts, 1 or more; controllers now and then abort a connection while they scan
  ///     (`le-connection-abort-by-local`).
  ///   - backoff: The delay after the first failed attempt; it doubles with each further one.
  case direct(timeout: Duration = .seconds(15), attempts: Int = 3, backoff: Duration = .milliseconds(250))

  /// A connection that is re-established whenever it is lost, until it is ended: after lost connections, a device that
  /// is out of range for days, an unplugged adapter, and restarts of bluetoothd.
  ///
  /// An attempt to connect to a device that bluetoothd knows is one passive scan for that device alone, so that the
  /// receiver is open for `timeout` out of `timeout` plus delay: a third of the time by default (measured on Linux 6.1).
  /// A device that bluetoothd has forgotten is scanned for actively. A link that another program makes during a delay
  /// ends the delay.
  /// - Parameters:
  ///   - timeout: The longest time for each phase of an attempt, as in `direct`.
  ///   - backoff: The delay after the first failed attempt; it doubles with each further failure in a row.
  ///   - longestDelay: The longest delay between two attempts. A device that comes back in range is connected after at
  ///     most this delay.
  case keepConnected(
    timeout: Duration = .seconds(15), backoff: Duration = .milliseconds(250), longestDelay: Duration = .seconds(30))

  var timeout: Duration {
    switch self {
    case .direct(let timeout, _, _), .keepConnected(let timeout, _, _): timeout
    }
  }
}
