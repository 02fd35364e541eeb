internal import DBus
internal import Logging
internal import Streams
internal import Timing

/// Reads GeoClue, and registers anew when it has gone.
struct GeoClueReader: Sendable {
  private static let name = "org.freedesktop.GeoClue2"
  private static let manager: ObjectPath = "/org/freedesktop/GeoClue2/Manager"
  private static let client = "org.freedesktop.GeoClue2.Client"
  private static let location = "org.freedesktop.GeoClue2.Location"
  /// The level at which GeoClue says all that it knows.
  private static let exact: UInt32 = 8

  let desktopID: String
  let options: LocationMonitor.Options
  let feed: UpdateFeed<LocationUpdate>

  private enum Event: Sendable {
    case location(ObjectPath)
    case gone
  }

  /// Reads until the task is cancelled.
  func run() async {
    var failures = SourceFailures(of: "GeoClue", options, feed)
    while !Task.isCancelled {
      do {
        try await follow { failures.end() }
      } catch {
        // A closed monitor publishes nothing.
        guard !Task.isCancelled else { return }
        let delay = failures.add(locationError(for: error))
        guard (try? await options.time.sleep(for: delay)) != nil else { return }
      }
    }
  }

  private func locationError(for error: any Error) -> LocationError {
    switch error {
    case let error as LocationError: error
    case let error as DBusError:
      switch error.name {
      case "org.freedesktop.DBus.Error.ServiceUnknown": LocationError(.unavailable, "it is not installed")
      case "org.freedesktop.DBus.Error.AccessDenied":
        LocationError(
          .notPermitted, "it does not let this program locate the host",
          hint:
            "permit it in the privacy settings of the desktop, or by a section [\(desktopID)] in /etc/geoclue/geoclue.conf"
        )
      default: LocationError(.unavailable, error.message)
      }
    default: LocationError(.unavailable, "\(error)")
    }
  }

  private static func lost(_ text: String) -> LocationError { LocationError(.unavailable, text) }

  /// Registers and passes locations on, until GeoClue or the bus has gone.
  /// - Parameter onReport: A closure that runs when GeoClue has started.
  private func follow(onReport: () -> Void) async throws {
    let connection = try await Connection.open(options.bus, logger: options.logger)
    // GeoClue forgets a client whose connection has closed.
    defer { connection.close() }
    let (events, source) = BoundedStream.make(of: Event.self, limit: 16, policy: .dropOldest)
    let rule = MatchRule(sender: Self.name, interface: Self.client, member: "LocationUpdated")
    let subscriptions = [
      try await connection.observe(rule, onEnd: { source.finish() }) { signal in
        if let path = signal.arguments.last?.objectPath { source.yield(.location(path)) }
      },
      try await connection.observeOwner(of: Self.name) { change in
        if change.oldOwner != nil { source.yield(.gone) }
      },
    ]
    defer { withExtendedLifetime(subscriptions) {} }
    let client = try await start(connection)
    onReport()
    feed.publish(.searching)
    var newest: Int64?
    if let first = try await client.get(Self.client, "Location").objectPath, first != "/" {
      try await report(first, connection, &newest)
    }
    for await event in events {
      switch event {
      case .location(let path): try await report(path, connection, &newest)
      case .gone: throw Self.lost("it has ended")
      }
    }
    try Task.checkCancellation()
    throw Self.lost("the connection to the bus was lost")
  }

  private func start(_ connection: Connection) async throws -> RemoteObject {
    let reply = try await permitted {
      try await connection.call(
        Self.name, Self.manager, "org.freedesktop.GeoClue2.Manager", "GetClient",
        options: CallOptions(returning: "o", timeout: options.permission))
    }
    guard let path = reply[0].objectPath else { throw Self.lost("it has no client for this program") }
    let client = RemoteObject(connection, Self.name, path)
    try await client.set(Self.client, "DesktopId", .string(desktopID))
    try await client.set(Self.client, "RequestedAccuracyLevel", .uint32(Self.exact))
    _ = try await permitted { try await client.call(Self.client, "Start", returning: "", timeout: options.permission) }
    return client
  }

  /// Makes a call that GeoClue answers when the agent of a desktop has: some of its versions wait for an agent before they
  /// return a client, others before they start it, for as long as there is none.
  private func permitted(_ call: () async throws -> [Value]) async throws -> [Value] {
    do {
      return try await call()
    } catch let error as DBusError where error.code == .timedOut {
      throw LocationError(
        .notPermitted, "no agent permits this program to locate the host",
        hint: "log in to a desktop, or start GeoClue's agent")
    }
  }

  private func report(_ path: ObjectPath, _ connection: Connection, _ newest: inout Int64?) async throws {
    let properties: [String: Value]
    do {
      properties = try await RemoteObject(connection, Self.name, path).getAll(Self.location)
    } catch let error as DBusError where error.code != .disconnected {
      // It has been replaced by a newer one, whose signal follows.
      options.logger.debug("a location was not read", metadata: ["error": "\(error)"])
      return
    }
    guard let fix = LocationFix(properties) else {
      feed.publish(.searching)
      return
    }
    // What GeoClue has kept since yesterday says nothing about today.
    if let time = fix.measuredAtMs {
      let age = options.wall() - time
      guard age <= options.staleness.milliseconds(rounded: .up), time != newest else { return }
      newest = time
    }
    feed.publish(.fix(fix))
  }
}

extension LocationFix {
  /// Creates a location from the properties of GeoClue's; `nil` without a place.
  init?(_ properties: [String: Value]) {
    func number(_ name: String) -> Double? {
      guard case .double(let value)? = properties[name]?.unwrapped, value.isFinite else { return nil }
      return value
    }
    guard let latitude = number("Latitude"), let longitude = number("Longitude") else { return nil }
    // The smallest double, and what is negative, stand for what GeoClue does not know.
    self.init(latitude: latitude, longitude: longitude, error: number("Accuracy").flatMap { $0 >= 0 ? $0 : nil })
    altitude = number("Altitude").flatMap { $0 > -1e6 ? $0 : nil }
    speed = number("Speed").flatMap { $0 >= 0 ? $0 : nil }
    course = number("Heading").flatMap { (0...360).contains($0) ? $0 : nil }
    if case .structure(let time)? = properties["Timestamp"]?.unwrapped, time.count == 2,
      let seconds: Int64 = time[0].integer(), let micros: Int64 = time[1].integer(), (0..<1 << 40).contains(seconds),
      (0..<1_000_000).contains(micros)
    {
      measuredAtMs = seconds * 1000 + micros / 1000
    }
  }
}
