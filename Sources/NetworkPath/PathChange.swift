/// One reason why a snapshot differs from the one before.
public enum PathChange: Sendable, Hashable, CustomStringConvertible {
  /// An interface was added.
  case interfaceAdded(String)
  /// An interface was removed, with its addresses and routes.
  case interfaceRemoved(String)
  /// An interface has a new name.
  case interfaceRenamed(from: String, to: String)
  /// Packets can pass now, or no longer.
  case link(interface: String, from: PathInterface.Link, to: PathInterface.Link)
  /// An interface has one more address.
  case addressAdded(IPAddress, interface: String)
  /// An interface has lost an address.
  case addressRemoved(IPAddress, interface: String)
  /// There is one more usable default route.
  case gatewayAdded(PathSnapshot.Gateway)
  /// A usable default route is gone.
  case gatewayRemoved(PathSnapshot.Gateway)
  /// Traffic takes another interface; `nil` stands for none.
  case preferredInterface(from: String?, to: String?)
  /// Other name servers.
  case dnsServers(from: [IPAddress], to: [IPAddress])
  /// The hints about cost changed.
  case hints(isExpensive: Bool, isConstrained: Bool)
  /// A probe had another outcome; `nil` stands for none yet.
  case reachability(from: Reachability?, to: Reachability?)
  /// There is a way out, or there no longer is.
  case status(from: PathSnapshot.Status, to: PathSnapshot.Status)
  /// So many changes did not last as long as the settle time, and were not told of one by one.
  case transient(count: Int)

  /// The change in words, for a person.
  public var description: String {
    switch self {
    case .interfaceAdded(let name): "\(name) was added"
    case .interfaceRemoved(let name): "\(name) was removed"
    case .interfaceRenamed(let old, let new): "\(old) is called \(new) now"
    case .link(let name, let old, let new): Self.words(name, old, new)
    case .addressAdded(let address, let name): "\(name) has the address \(address)"
    case .addressRemoved(let address, let name): "\(name) has lost the address \(address)"
    case .gatewayAdded(let gateway): "\(gateway.family) has a default route \(gateway)"
    case .gatewayRemoved(let gateway): "\(gateway.family) has lost its default route \(gateway)"
    case .preferredInterface(let old?, let new?): "traffic takes \(new) instead of \(old)"
    case .preferredInterface(nil, let new?): "traffic takes \(new)"
    case .preferredInterface(_, nil): "traffic has no way to take"
    case .dnsServers(_, let new): new.isEmpty ? "no name server is known" : "name servers: \(Self.list(new))"
    case .hints(let isExpensive, let isConstrained):
      "traffic \(isExpensive ? "costs money" : "is free")\(isConstrained ? " and is to be spared" : "")"
    case .reachability(_, let new): new.map { "the probe says: \($0.rawValue)" } ?? "the probe has yet to answer"
    case .status(_, .satisfied): "there is a way out"
    case .status(_, .unsatisfied): "there is no way out"
    case .status(_, .requiresConnection): "the way out has to be connected first"
    case .transient(let count): count == 1 ? "a change did not last" : "\(count) changes did not last"
    }
  }

  private static func words(_ name: String, _ old: PathInterface.Link, _ new: PathInterface.Link) -> String {
    switch (old, new) {
    case (_, .up): "\(name) is up"
    case (_, .down): "\(name) was switched off"
    case (.down, .noCarrier): "\(name) was switched on and has no carrier"
    case (_, .noCarrier): "\(name) has lost its carrier"
    case (_, .dormant): "\(name) waits to be admitted"
    }
  }

  private static func list(_ addresses: [IPAddress]) -> String {
    addresses.map(\.description).joined(separator: ", ")
  }
}

extension PathSnapshot.Gateway: CustomStringConvertible {
  /// `via 192.0.2.1 on eth0`, for a person.
  public var description: String { (address.map { "via \($0) " } ?? "") + "on \(interface)" }
}
