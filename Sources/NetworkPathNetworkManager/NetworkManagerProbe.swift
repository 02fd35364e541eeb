public import DBus
public import NetworkPath

/// A reachability probe that asks NetworkManager, which checks a page of its own for captive portals.
///
/// ```swift
/// import NetworkPath
/// let probe = NetworkManagerProbe()
/// if try await probe.probe() == .portal { print("the network requires signing in") }
/// ```
public struct NetworkManagerProbe: ReachabilityProbe {
  /// The longest time that NetworkManager may take for a check of its page.
  private static let timeout: Duration = .seconds(20)

  private let bus: Connection.Bus

  /// Creates a probe without connecting to the bus.
  /// - Parameter bus: The bus on which NetworkManager runs.
  public init(bus: Connection.Bus = .system) { self.bus = bus }

  /// Returns what NetworkManager knows of the network, after a new check where it permits one.
  /// - Throws: `NetworkPathError` with code `.unavailable` when NetworkManager does not run or does not check; `DBusError`;
  ///   `CancellationError`.
  public func probe() async throws -> Reachability {
    let connection = try await Connection.open(bus)
    let name = NetworkManagerMeteredSource.name
    guard try await connection.owner(of: name) != nil else {
      throw NetworkPathError(.unavailable, "NetworkManager does not run")
    }
    let number: UInt32?
    do {
      number = try await connection.call(
        name, NetworkManagerMeteredSource.path, name, "CheckConnectivity",
        options: .init(returning: "u", timeout: Self.timeout))[0].integer()
    } catch let error as DBusError where error.code != .disconnected {
      // The check needs a right that not every user has; the result of the last one does not.
      let reply = try await connection.call(
        name, NetworkManagerMeteredSource.path, "org.freedesktop.DBus.Properties", "Get",
        [.string(name), .string("Connectivity")], options: .init(returning: "v", timeout: Self.timeout))
      number = reply[0].unwrapped.integer()
    }
    guard let reachability = Reachability(networkManager: number) else {
      throw NetworkPathError(.unavailable, "NetworkManager does not check the network")
    }
    return reachability
  }
}

extension Reachability {
  /// Creates a result from a value of NetworkManager's enumeration `NMConnectivityState`; `nil` for "unknown".
  init?(networkManager number: UInt32?) {
    switch number {
    case 1, 3: self = .unreachable
    case 2: self = .portal
    case 4: self = .reachable
    default: return nil
    }
  }
}
