/// One difference between a snapshot and the snapshot before it.
public enum PathChange: Sendable, Hashable, CustomStringConvertible {
  /// The interface with this name was added.
  case interfaceAdded(String)
  /// The interface with this name was removed, with its addresses and routes.
  case interfaceRemoved(String)
  /// An interface was renamed, and kept its index.
  case interfaceRenamed(from: String, to: String)
  /// The link state of an interface changed.
  case link(interface: String, from: PathInterface.Link, to: PathInterface.Link)
  /// An address was added to an interface.
  case addressAdded(IPAddress, interface: String)
  /// An address was removed from an interface.
  case addressRemoved(IPAddress, interface: String)
  /// A usable default route was added.
  case gatewayAdded(PathSnapshot.Gateway)
  /// A usable default route was removed, or became unusable.
  case gatewayRemoved(PathSnapshot.Gateway)
  /// The preferred interface changed; `nil` stands for none.
  case preferredInterface(from: String?, to: String?)
  /// The list of name servers changed.
  case dnsServers(from: [IPAddress], to: [IPAddress])
  /// The hints about the cost of traffic changed.
  case hints(isExpensive: Bool, isConstrained: Bool)
  /// The result of the reachability probe changed; `nil` stands for no result yet.
  case reachability(from: Reachability?, to: Reachability?)
  /// The status of the path changed.
  case status(from: PathSnapshot.Status, to: PathSnapshot.Status)
  /// The number of changes that were reverted within the settle time and therefore not published.
  case transient(count: Int)

  /// The change for display, such as "eth0 has lost its carrier".
  public var description: String {
    switch self {
    case .interfaceAdded(let name): "\(name) was added"
    case .interfaceRemoved(let name): "\(name) was removed"
    case .interfaceRenamed(let old, let new): "\(old) was renamed to \(new)"
    case .link(let name, let old, let new): Self.words(name, old, new)
    case .addressAdded(let address, let name): "\(name) has the address \(address)"
    case .addressRemoved(let address, let name): "\(name) has lost the address \(address)"
    case .gatewayAdded(let gateway): "\(gateway.family) has a default route \(gateway)"
    case .gatewayRemoved(let gateway): "\(gateway.family) has lost its default route \(gateway)"
    case .preferredInterface(let old?, let new?): "traffic uses \(new) instead of \(old)"
    case .preferredInterface(nil, let new?): "traffic uses \(new)"
    case .preferredInterface(_, nil): "no interface has a usable default route"
    case .dnsServers(_, let new): new.isEmpty ? "no name server is configured" : "name servers: \(Self.list(new))"
    case .hints(let isExpensive, let isConstrained):
      "traffic is \(isExpensive ? "expensive" : "not expensive")\(isConstrained ? " and constrained" : "")"
    case .reachability(_, let new): new.map { "probe result: \($0.rawValue)" } ?? "no probe result yet"
    case .status(_, .satisfied): "the network is available"
    case .status(_, .unsatisfied): "the network is not available"
    case .status(_, .requiresConnection): "the network requires a connection first"
    case .transient(let count): count == 1 ? "1 change was reverted" : "\(count) changes were reverted"
    }
  }

  private static func words(_ name: String, _ old: PathInterface.Link, _ new: PathInterface.Link) -> String {
    switch (old, new) {
    case (_, .up): "\(name) is up"
    case (_, .down): "\(name) was switched off"
    case (.down, .noCarrier): "\(name) was switched on and has no carrier"
    case (_, .noCarrier): "\(name) has lost its carrier"
    case (_, .dormant): "\(name) waits for authentication"
    }
  }

  private static func list(_ addresses: [IPAddress]) -> String {
    addresses.map(\.description).joined(separator: ", ")
  }
}

extension PathSnapshot.Gateway: CustomStringConvertible {
  /// The gateway for display, such as `via 192.0.2.1 on eth0`.
  public var description: String { (address.map { "via \($0) " } ?? "") + "on \(interface)" }
}
