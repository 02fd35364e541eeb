public import DBus
public import NetworkPath
internal import Streams
internal import Timing

/// A source of estimates that reads NetworkManager's property `Metered`, that of the connection with the default route.
///
/// NetworkManager is not started, and may start, stop and restart at any time; without it the source reports `nil`. A
/// bus that is unavailable is retried every 60 s. While NetworkManager starts or connects, its first word is waited for:
/// it calls a network metered only when it has connected to it.
///
/// ```swift
/// import NetworkPath
/// var options = NetworkPathMonitor.Options()
/// options.meteredSource = NetworkManagerMeteredSource()
/// let monitor = try await NetworkPathMonitor.start(options)
/// print(monitor.path.isExpensive, monitor.path.hintSource)
/// ```
public struct NetworkManagerMeteredSource: MeteredSource {
  static let name = "org.freedesktop.NetworkManager"
  static let path: ObjectPath = "/org/freedesktop/NetworkManager"
  /// The delay before an unavailable bus is tried again.
  private static let retryDelay: Duration = .seconds(60)
  /// The timeout of a call to NetworkManager.
  private static let timeout: Duration = .seconds(5)

  private let bus: Connection.Bus

  /// Creates a source without connecting to the bus.
  /// - Parameter bus: The bus on which NetworkManager runs.
  public init(bus: Connection.Bus = .system) { self.bus = bus }

  /// Reports each estimate of NetworkManager until the task is cancelled.
  /// - Parameter report: A closure that takes each new estimate, and `nil` when NetworkManager has none or does not run.
  public func follow(_ report: @escaping @Sendable (Metered?) -> Void) async {
    while !Task.isCancelled {
      do {
        try await followConnection(report)
      } catch {
        // Without a bus there is no NetworkManager, which `nil` reports.
      }
      report(nil)
      do { try await Task.sleep(for: Self.retryDelay, clock: .steady) } catch { return }
    }
  }

  /// Reports until the connection to the bus is lost.
  private func followConnection(_ report: @escaping @Sendable (Metered?) -> Void) async throws {
    let connection = try await Connection.open(bus)
    let wake = WakeSignal()
    let properties = MatchRule(
      sender: Self.name, path: Self.path, interface: "org.freedesktop.DBus.Properties", member: "PropertiesChanged")
    let changes = try await connection.observe(properties, onEnd: { wake.finish() }) { signal in
      let changed = signal.propertiesChanged?.changed
      if ["Metered", "State", "Startup"].contains(where: { changed?[$0] != nil }) { wake.signal() }
    }
    let owners = try await connection.observeOwner(of: Self.name) { _ in wake.signal() }
    var hasReported = false
    wake.signal()
    for await _ in wake.signals {
      let state = try await state(connection)
      if state.isBusy, !hasReported { continue }
      hasReported = true
      report(state.metered)
    }
    withExtendedLifetime((changes, owners)) {}
  }

  /// The state of NetworkManager, as far as the cost depends on it.
  private struct State {
    var metered: Metered?
    /// A Boolean value that indicates whether it starts or connects, so that the cost is not known yet.
    var isBusy = false
  }

  /// The value of `NMState` while NetworkManager connects.
  private static let connecting: UInt32 = 40

  private static func hasNoObject(_ error: DBusError) -> Bool {
    ["org.freedesktop.DBus.Error.UnknownObject", "org.freedesktop.DBus.Error.UnknownMethod"].contains(error.name)
  }

  private func state(_ connection: Connection) async throws -> State {
    // Called only when it runs: a call would start it.
    guard try await connection.owner(of: Self.name) != nil else { return State() }
    do {
      let reply = try await connection.call(
        Self.name, Self.path, "org.freedesktop.DBus.Properties", "GetAll", [.string(Self.name)],
        options: .init(returning: "a{sv}", timeout: Self.timeout))
      let properties = reply[0].properties ?? [:]
      return State(
        metered: Metered(networkManager: properties["Metered"]?.integer(as: UInt32.self)),
        isBusy: properties["Startup"]?.bool == true
          || properties["State"]?.integer(as: UInt32.self) == Self.connecting)
    } catch let error as DBusError where Self.hasNoObject(error) {
      // It has its name before its object, whose property `Startup` changes later.
      return State(isBusy: true)
    } catch let error as DBusError where error.code != .disconnected {
      // Older than 1.2, stopped meanwhile, or access was denied.
      return State()
    }
  }
}

extension Metered {
  /// Creates an estimate from a value of NetworkManager's enumeration `NMMetered`; `nil` for "unknown".
  init?(networkManager number: UInt32?) {
    switch number {
    case 1: self = .yes
    case 2, 4: self = .no
    case 3: self = .probably
    default: return nil
    }
  }
}
