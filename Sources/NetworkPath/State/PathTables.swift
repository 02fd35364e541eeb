internal import CNetlink

/// What the kernel has said so far: links, addresses, default routes.
struct PathTables: Sendable, Equatable {
  private(set) var links: [Int32: NetworkLink] = [:]
  private(set) var addresses: [NetworkAddress.Key: NetworkAddress] = [:]
  private(set) var routes: Set<DefaultRoute> = []

  init() {}

  /// The tables a dump gives.
  init(_ dump: some Sequence<RouteMessage>) {
    for message in dump { apply(message) }
  }

  /// Takes in one message.
  /// - Returns: whether the kernel may have changed more than it tells, so that all has to be asked for again.
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
      // Whether it was alive when it went does not matter.
      for hop in old { routes = routes.filter { !$0.isSameHop(as: hop) } }
      return routes != before
    case .done, .refused, .unrelated: return false
    }
  }

  private mutating func apply(_ link: NetworkLink) -> Bool {
    guard let old = links.updateValue(link, forKey: link.index) else { return true }
    // The kernel takes back the routes of an interface that is switched off, and does not tell of those of IPv4.
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
  /// Whether packets can be sent from it: it is not being checked for a second owner, and has none.
  var isUsable: Bool {
    if flags & UInt32(IFA_F_DADFAILED) != 0 { return false }
    return flags & UInt32(IFA_F_TENTATIVE) == 0 || flags & UInt32(IFA_F_OPTIMISTIC) != 0
  }

  /// Whether it is good beyond its link.
  var reachesBeyondItsLink: Bool {
    isUsable && scope < UInt8(RT_SCOPE_LINK.rawValue) && !key.address.isLinkLocal && !key.address.isLoopback
  }
}
