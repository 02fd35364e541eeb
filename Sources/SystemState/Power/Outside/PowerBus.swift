internal import DBus
internal import Logging

/// What the daemons on the bus tell; nothing of those that do not run.
struct BusReading: Sendable {
  var supplies: SupplyReading?
  var profile: ProfileReading?
}

/// Asks UPower and power-profiles-daemon over one connection, and hears of it when they have something new, come or go.
struct PowerBus: Sendable {
  /// How long a daemon may take to answer.
  private static let timeout: Duration = .seconds(5)
  private static let upower = "org.freedesktop.UPower"
  private static let manager: ObjectPath = "/org/freedesktop/UPower"
  /// All batteries of the machine as one; at this path in every release since 0.99.
  private static let display: ObjectPath = "/org/freedesktop/UPower/devices/DisplayDevice"
  /// The newer name first: a daemon that has both says the same by both.
  private static let profiles: [(source: PowerSnapshot.ProfileSource, path: ObjectPath)] = [
    (.upower, "/org/freedesktop/UPower/PowerProfiles"), (.hadess, "/net/hadess/PowerProfiles"),
  ]

  private let connection: Connection
  private let subscriptions: [Subscription]
  private let logger: Logger

  /// Connects; `onNews` is called whenever there may be something new, and once more when the connection is lost.
  init(_ bus: Connection.Bus, logger: Logger, onNews: @escaping @Sendable () -> Void) async throws {
    connection = try await .open(bus, logger: logger)
    self.logger = logger
    let objects =
      [(Self.upower, Self.manager), (Self.upower, Self.display)]
      + Self.profiles.map { ($0.source.rawValue, $0.path) }
    var subscriptions: [Subscription] = []
    for (name, path) in objects {
      let rule = MatchRule(
        sender: name, path: path, interface: "org.freedesktop.DBus.Properties", member: "PropertiesChanged")
      subscriptions.append(try await connection.observe(rule, onEnd: onNews) { _ in onNews() })
    }
    for name in [Self.upower] + Self.profiles.map(\.source.rawValue) {
      subscriptions.append(try await connection.observeOwner(of: name) { _ in onNews() })
    }
    self.subscriptions = subscriptions
  }

  /// What the daemons say now.
  /// - Throws: `DBusError` with code `.disconnected`; `CancellationError`.
  func read() async throws -> BusReading {
    BusReading(supplies: try await supplies(), profile: try await profile())
  }

  private func supplies() async throws -> SupplyReading? {
    guard let manager = try await properties(Self.upower, Self.manager, Self.upower),
      let battery = try await properties(Self.upower, Self.display, "org.freedesktop.UPower.Device")
    else { return nil }
    let reading = SupplyReading(manager: manager, display: battery)
    if reading == nil { logger.info("UPower says too little", metadata: ["battery": "\(battery)"]) }
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

  /// The properties of an object; `nil` when its daemon does not run or does not say.
  private func properties(
    _ name: String, _ path: ObjectPath, _ interface: String
  ) async throws -> [String: Value]? {
    // Asked only when it runs: a call would start it.
    guard try await connection.owner(of: name) != nil else { return nil }
    do {
      let reply = try await connection.call(
        name, path, "org.freedesktop.DBus.Properties", "GetAll", [.string(interface)], returning: "a{sv}",
        timeout: Self.timeout)
      return reply[0].properties
    } catch let error as DBusError where error.code != .disconnected {
      logger.info("a daemon does not say how power is", metadata: ["daemon": "\(name)", "error": "\(error)"])
      return nil
    }
  }
}

extension SupplyReading {
  /// What UPower's manager and its display device tell; `nil` when that is too little.
  init?(manager: [String: Value], display: [String: Value]) {
    guard let isOnBattery = manager["OnBattery"]?.bool else { return nil }
    // Of UPower's types, 2 is a battery and 3 an uninterruptible supply; without either the device is not present.
    let isPresent = display["IsPresent"]?.bool == true && [2, 3].contains(display["Type"]?.integer(as: UInt32.self))
    self.init(source: .upower, externalPower: isOnBattery ? .battery : isPresent ? .supply : .noBattery)
    guard isPresent, case .double(let percent)? = display["Percentage"]?.unwrapped, (0...100).contains(percent),
      // Zero of a battery in no known state is what UPower says before it knows.
      percent > 0 || display["State"]?.integer(as: UInt32.self) ?? 0 != 0
    else { return }
    batteryLevelPct = Int(percent.rounded())
  }
}
