internal import DBus
internal import Logging

/// The readings of the daemons on the bus; none from a daemon that does not run.
struct BusReading: Sendable {
  var supplies: SupplyReading?
  var profile: ProfileReading?
}

/// A connection to UPower and power-profiles-daemon that also observes their changes, starts and stops.
struct PowerBus: Sendable {
  /// The timeout of a call to a daemon.
  private static let timeout: Duration = .seconds(5)
  private static let upower = "org.freedesktop.UPower"
  private static let manager: ObjectPath = "/org/freedesktop/UPower"
  /// UPower's composite of all batteries, at this path in every release since 0.99.
  private static let display: ObjectPath = "/org/freedesktop/UPower/devices/DisplayDevice"
  /// The newer name first: a daemon with both names reports the same under both.
  private static let profiles: [(source: PowerSnapshot.ProfileSource, path: ObjectPath)] = [
    (.upower, "/org/freedesktop/UPower/PowerProfiles"), (.hadess, "/net/hadess/PowerProfiles"),
  ]

  private let connection: Connection
  private let subscriptions: [Subscription]
  private let logger: Logger

  /// Connects; `onChange` runs whenever a value may have changed, and once more when the connection is lost.
  init(_ bus: Connection.Bus, logger: Logger, onChange: @escaping @Sendable () -> Void) async throws {
    connection = try await .open(bus, logger: logger)
    self.logger = logger
    let objects =
      [(Self.upower, Self.manager), (Self.upower, Self.display)]
      + Self.profiles.map { ($0.source.rawValue, $0.path) }
    var subscriptions: [Subscription] = []
    for (name, path) in objects {
      let rule = MatchRule(
        sender: name, path: path, interface: "org.freedesktop.DBus.Properties", member: "PropertiesChanged")
      subscriptions.append(try await connection.observe(rule, onEnd: onChange) { _ in onChange() })
    }
    for name in [Self.upower] + Self.profiles.map(\.source.rawValue) {
      subscriptions.append(try await connection.observeOwner(of: name) { _ in onChange() })
    }
    self.subscriptions = subscriptions
  }

  /// Reads both daemons.
  /// - Throws: `DBusError` with code `.disconnected`; `CancellationError`.
  func read() async throws -> BusReading {
    BusReading(supplies: try await supplies(), profile: try await profile())
  }

  private func supplies() async throws -> SupplyReading? {
    guard let manager = try await properties(Self.upower, Self.manager, Self.upower),
      let battery = try await properties(Self.upower, Self.display, "org.freedesktop.UPower.Device")
    else { return nil }
    let reading = SupplyReading(manager: manager, display: battery)
    if reading == nil { logger.info("UPower lacked a property", metadata: ["battery": "\(battery)"]) }
    return reading
  }

  private func profile() async throws -> ProfileReading? {
    for (source, path) in Self.profiles {
      guard let profile = try await properties(source.rawValue, path, source.rawValue)?["ActiveProfile"]?.string
      else { continue }
      return ProfileReading(source: source, isPowerSaver: profile == "power-saver")
    }
    return nil
  }

  /// Returns the properties of an object; `nil` if its daemon does not run or does not reply.
  private func properties(
    _ name: String, _ path: ObjectPath, _ interface: String
  ) async throws -> [String: Value]? {
    // Called only when it runs: a call would start it.
    guard try await connection.owner(of: name) != nil else { return nil }
    do {
      let reply = try await connection.call(
        name, path, "org.freedesktop.DBus.Properties", "GetAll", [.string(interface)],
        options: .init(
          returning: "a{sv}",
          timeout: Self.timeout))
      return reply[0].properties
    } catch let error as DBusError where error.code != .disconnected {
      logger.info("reading the power state failed", metadata: ["daemon": "\(name)", "error": "\(error)"])
      return nil
    }
  }
}

extension SupplyReading {
  /// Creates a reading from the properties of UPower's manager and display device; `nil` if `OnBattery` is missing.
  init?(manager: [String: Value], display: [String: Value]) {
    guard let isOnBattery = manager["OnBattery"]?.bool else { return nil }
    // Of UPower's types, 2 is a battery and 3 an uninterruptible supply; without either the device is not present.
    let isPresent = display["IsPresent"]?.bool == true && [2, 3].contains(display["Type"]?.integer(as: UInt32.self))
    self.init(source: .upower, externalPower: isOnBattery ? .battery : isPresent ? .supply : .noBattery)
    guard isPresent, case .double(let percent)? = display["Percentage"]?.unwrapped, (0...100).contains(percent),
      // UPower reports 0 % and an unknown state before its first reading.
      percent > 0 || display["State"]?.integer(as: UInt32.self) ?? 0 != 0
    else { return }
    batteryLevelPct = Int(percent.rounded())
  }
}
