/// How a device is to be connected to.
public enum ConnectOptions: Sendable, Hashable {
  /// Once: it succeeds, or says why not.
  /// - Parameters:
  ///   - timeout: the most time for each step of an attempt: looking for a device that is not known yet, making the
  ///     link, and reading the services.
  ///   - attempts: how often to try, 1 or more; controllers abort a connection now and then while they scan
  ///     (`le-connection-abort-by-local`).
  ///   - backoff: the pause after the first failed attempt; it doubles.
  case direct(timeout: Duration = .seconds(15), attempts: Int = 3, backoff: Duration = .milliseconds(250))

  /// Again and again, whenever the link is not there, until it is ended: over lost links, a device that is away for
  /// days, an adapter that is pulled, and restarts of bluetoothd.
  /// - Parameters:
  ///   - timeout: as in `direct`.
  ///   - backoff: the pause after the first failed attempt; it doubles with each more in a row.
  ///   - longestDelay: where the doubling ends. It bounds how late a device that comes back is noticed.
  case keepConnected(
    timeout: Duration = .seconds(15), backoff: Duration = .milliseconds(250), longestDelay: Duration = .seconds(30))

  var timeout: Duration {
    switch self {
    case .direct(let timeout, _, _), .keepConnected(let timeout, _, _): timeout
    }
  }
}
