public import DBus
public import Logging
public import Streams
package import Timing

/// A monitor of the host's location: one stream of updates, which goes on when its source comes back.
///
/// It runs until ``close()``, or until its last reference is released.
///
/// ```swift
/// let monitor = try LocationMonitor(.gpsd(host: "127.0.0.1", port: 2947))
/// for await update in monitor.updates() {
///   if case .fix(let fix) = update { print(fix.latitude, fix.longitude) }
/// }
/// ```
public final class LocationMonitor: Sendable {
  /// The settings of a location monitor.
  public struct Options: Sendable {
    /// The logger for errors that cannot be returned.
    public var logger = Logger(label: "edgeblue.location")
    /// The message bus on which GeoClue is.
    public var bus: Connection.Bus = .system

    /// The delays between attempts to reach a source that is not there.
    package var backoff = Backoff(base: .seconds(1), limit: .seconds(30), jitter: 0.5...1)
    /// The time without anything from gpsd after which it is asked whether it is still there, and that for its reply.
    package var silence = (quiet: Duration.seconds(30), reply: Duration.seconds(10))
    /// The time in which somebody permits GeoClue to tell the location.
    package var permission = Duration.seconds(60)
    /// The age from which on a location of GeoClue does not count.
    package var staleness = Duration.seconds(30)
    /// The wall clock in milliseconds since 1970, for the age of GeoClue's locations.
    package var wall: @Sendable () -> Int64 = { WallClock.unixMilliseconds() }
    /// The interval at which a fixed place is delivered.
    package var interval = Duration.seconds(10)
    /// The clock for tracks and fixed places.
    package var time = TimeSource.continuous

    /// Creates settings with their defaults.
    public init() {}
  }

  private let feed: UpdateFeed<LocationUpdate>
  private let stop: @Sendable () -> Void

  /// Starts a monitor, without waiting for its source.
  /// - Throws: ``LocationError`` with code `.invalidArgument` for a port or a speed out of its range and for a file that
  ///   is no track, and `.storage` if the file cannot be read or no thread can be started.
  public init(_ source: LocationSource, _ options: Options = Options()) throws(LocationError) {
    let feed = UpdateFeed<LocationUpdate>()
    self.feed = feed
    switch source {
    case .gpsd(let host, let port):
      guard (1...65_535).contains(port), !host.isEmpty else {
        throw LocationError(.invalidArgument, "gpsd is at \(host):\(port); allowed: a host, and a port of 1 to 65535")
      }
      let reader = try GPSDReader(host: host, port: port, options: options, feed: feed)
      try reader.start()
      stop = { reader.stop() }
    case .geoClue(let desktopID):
      let reader = GeoClueReader(desktopID: desktopID, options: options, feed: feed)
      let task = Task { await reader.run() }
      stop = { task.cancel() }
    case .track(let path, let speed):
      guard speed.isFinite, (0.01...10_000).contains(speed) else {
        throw LocationError(.invalidArgument, "the speed is \(speed); allowed: 0.01 to 10000")
      }
      let track = try Track(path: path)
      let task = Task { await track.play(into: feed, speed: speed, time: options.time) }
      stop = { task.cancel() }
    case .fixed(let fix):
      let task = Task {
        repeat {
          feed.publish(.fix(fix))
          // Cancelled when the monitor is closed.
        } while (try? await options.time.sleep(for: options.interval)) != nil
        feed.end()
      }
      stop = { task.cancel() }
    }
  }

  deinit { close() }

  /// The newest update; `nil` before the first one.
  public var newest: LocationUpdate? { feed.newest }

  /// Returns a stream of the newest update and of every later one, until the monitor is closed.
  /// - Parameter limit: The number of updates that may wait for the reader, 1 or more; beyond that the oldest are dropped.
  public func updates(limit: Int = 16) -> BoundedStream<LocationUpdate> { feed.updates(limit: limit) }

  /// Stops the monitor, closes its source and ends all its streams.
  public func close() {
    stop()
    feed.end()
  }
}
