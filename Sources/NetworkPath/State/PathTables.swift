internal import CNetlink

/// The kernel's links, addresses and default routes, as far as its messages have been applied.
struct PathTables: Sendable, Equatable {
  private(set) var links: [Int32: NetworkLink] = [:]
  private(set) var addresses: [NetworkAddress.Key: NetworkAddress] = [:]
  private(set) var routes: Set<DefaultRoute> = []

  init() {}

  /// Creates tables from the messages of a dump.
  init(_ dump: some Sequence<RouteMessage>) {
    for message in dump { apply(message) }
  }

  /// Applies one message.
  /// - Returns: `true` if the kernel may have changed more than its messages say, so that a dump is needed.
  @discardableResult
  mutating func apply(_ message: RouteMessage) -> Bool {
    switch message {
    case .link(let link): return apply(link)
    case .linkGone(let index):
      guard links.removeValue(forKey: index) != nil else { return false }
      addresses = addresses.filter { $0.key.link != index }
      routes = routes.filter { $0.link != index }
      return true
    case .address(let address):
      addresses[address.key] = address
      return false
    case .addressGone(let address):
      addresses[address.key] = nil
      return false
    case .routes(let new, let replaces):
      let before = routes
      if replaces, let first = new.first {
        routes = routes.filter { $0.family != first.family || $0.metric != first.metric }
      }
      routes.formUnion(new)
      return routes != before
    case .routesGone(let old):
      let before = routes
      // The message of a removal says nothing about `isDead`.
      for hop in old { routes = routes.filter { !$0.isSameHop(as: hop) } }
      return routes != before
    case .choiceMayChange, .done, .refused, .unrelated: return false
    }
  }

  private mutating func apply(_ link: NetworkLink) -> Bool {
    guard let old = links.updateValue(link, forKey: link.index) else { return true }
    // The kernel removes the routes of an interface that is switched off, without a message for those of IPv4.
    if link.state == .down { routes = routes.filter { $0.link != link.index } }
    return old != link
  }
}

extension DefaultRoute {
  fileprivate func isSameHop(as other: DefaultRoute) -> Bool {
    family == other.family && metric == other.metric && link == other.link && gateway == other.gateway
      && refuses == other.refuses
  }
}

extension NetworkAddress {
  /// Whether the address may be used: duplicate detection is neither running nor failed.
  var isUsable: Bool {
    if flags & UInt32(IFA_F_DADFAILED) != 0 { return false }
    return flags & UInt32(IFA_F_TENTATIVE) == 0 || flags & UInt32(IFA_F_OPTIMISTIC) != 0
  }

  /// Whether the address is usable and valid beyond its link.
  var reachesBeyondItsLink: Bool {
    isUsable && scope < UInt8(RT_SCOPE_LINK.rawValue) && !key.address.isLinkLocal && !key.address.isLoopback
  }
}
