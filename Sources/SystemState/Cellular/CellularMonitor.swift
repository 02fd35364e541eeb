public import DBus
public import Logging
public import Streams
package import Timing

/// A monitor of the host's modems over ModemManager: one stream of updates, which goes on when ModemManager comes back.
///
/// It runs until ``close()``, or until its last reference is released. It never starts ModemManager.
///
/// ```swift
/// let monitor = CellularMonitor()
/// for await update in monitor.updates() {
///   if case .modems(let modems) = update { print(modems.first?.technology?.rawValue ?? "no network") }
/// }
/// ```
public final class CellularMonitor: Sendable {
  /// The settings of a monitor of modems.
  public struct Options: Sendable {
    /// The interval in seconds at which modems are asked to measure the signal, 1 to 3600; `nil` to ask for nothing.
    ///
    /// The modems measure on until another program changes that: ModemManager knows one interval for all of them.
    public var signalSeconds: Int?
    /// The message bus on which ModemManager is.
    public var bus: Connection.Bus = .system
    /// The logger for errors that cannot be returned.
    public var logger = Logger(label: "edgeblue.cellular")

    /// The delays between attempts to reach a bus that is not there.
    package var backoff = Backoff(base: .seconds(1), limit: .seconds(60), jitter: 0.5...1)
    /// The clock of those delays.
    package var time = TimeSource.continuous

    /// Creates settings with their defaults.
    public init() {}
  }

  private let feed = UpdateFeed<CellularUpdate>()
  private let task: Task<Void, Never>

  /// Starts a monitor, without waiting for ModemManager.
  public init(_ options: Options = Options()) {
    let reader = ModemManagerReader(options: options, feed: feed)
    task = Task { await reader.run() }
  }

  deinit { close() }

  /// The newest update; `nil` before the first one.
  public var newest: CellularUpdate? { feed.newest }

  /// Returns a stream of the newest update and of every later one, until the monitor is closed.
  /// - Parameter limit: The number of updates that may wait for the reader, 1 or more; beyond that the oldest are dropped.
  public func updates(limit: Int = 16) -> BoundedStream<CellularUpdate> { feed.updates(limit: limit) }

  /// Stops the monitor and ends all its streams.
  public func close() {
    task.cancel()
    feed.end()
  }
}
