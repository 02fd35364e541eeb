/// The facts about a path that are not in the kernel's tables.
struct PathSurroundings: Sendable, Equatable {
  var dnsServers: [IPAddress] = []
  /// The estimate of the metered source; `nil` without one.
  var metered: Metered?
  var reachability: Reachability?
  /// The kernel's decision about packets of each family; where there is none, the tables count.
  var choices: [IPAddress.Family: RouteChoice] = [:]
}

extension PathTables {
  /// Returns the path that results from the tables.
  func snapshot(_ surroundings: PathSurroundings = PathSurroundings()) -> PathSnapshot {
    let routes = usableRoutes(surroundings.choices)
    let interfaces = interfaces(inOrderOf: routes)
    let preferred = routes.isEmpty ? nil : interfaces.first
    var path = PathSnapshot(
      status: .satisfied, interfaces: interfaces,
      gateways: routes.map {
        .init(address: $0.gateway, family: $0.family, interface: links[$0.link]?.name ?? "?")
      },
      dnsServers: surroundings.dnsServers, reachability: surroundings.reachability)
    path.unsatisfiedReason =
      routes.isEmpty ? unsatisfiedReason(interfaces) : surroundings.reachability?.unsatisfiedReason
    switch path.unsatisfiedReason {
    case nil: break
    case .waiting, .portal: path.status = .requiresConnection
    default: path.status = .unsatisfied
    }
    if let metered = surroundings.metered {
      path.hintSource = .meteredSource
      path.isExpensive = metered != .no
      path.isConstrained = metered == .yes
    } else if let preferred {
      // The traffic of a tunnel goes through another interface.
      let carrier = preferred.kind == .tunnel ? carrier(interfaces, behind: routes) ?? preferred : preferred
      path.isExpensive = carrier.kind == .cellular || carrier.isTethered
      path.isConstrained = links[Int32(carrier.index)]?.device.type == "bluetooth"
    }
    return path
  }

  /// The usable default routes, the preferred one first.
  private func usableRoutes(_ choices: [IPAddress.Family: RouteChoice]) -> [DefaultRoute] {
    IPAddress.Family.allCases.flatMap { family in
      let listed = listedRoutes(family)
      switch choices[family] {
      case nil: return listed
      case .refused: return []
      case .hop(let hop, let source):
        guard isUsable(hop, source: source) else { return [] }
        let same = listed.first { $0.link == hop.link && $0.gateway == hop.gateway }
        // Among routes of the same metric the kernel chooses by the destination.
        if let same, same.metric == listed.first?.metric { return listed }
        return [same ?? hop] + listed.filter { $0 != same }
      }
    }
  }

  /// The usable default routes of the main table.
  private func listedRoutes(_ family: IPAddress.Family) -> [DefaultRoute] {
    let order: (DefaultRoute, DefaultRoute) -> Bool = { a, b in
      (a.metric, a.link, a.gateway?.bytes ?? []) < (b.metric, b.link, b.gateway?.bytes ?? [])
    }
    let all = routes.filter { $0.family == family }.sorted(by: order)
    // A route that rejects packets hides all routes after it.
    let end = all.filter(\.refuses).map(\.metric).min()
    return all.filter { route in end.map { route.metric < $0 } ?? true }.filter { isUsable($0) }
  }

  private func isUsable(_ route: DefaultRoute, source: IPAddress? = nil) -> Bool {
    guard !route.isDead, let link = links[route.link], link.state == .up else { return false }
    if link.kind == .tunnel, !canCarryTunnels { return false }
    if let source, !source.isLinkLocal, !source.isLoopback { return true }
    // The address may be on the loopback interface, as on routers.
    return addresses.values.contains { address in
      address.key.address.family == route.family && address.reachesBeyondItsLink
        && (address.key.link == route.link || links[address.key.link]?.kind == .loopback)
    }
  }

  /// A Boolean value that indicates whether packets of a tunnel can leave the host: a tunnel stays up without a network.
  ///
  /// Where there is no interface but tunnels, as in a namespace made for one, the interface below is elsewhere.
  private var canCarryTunnels: Bool {
    let carriers = links.values.filter { $0.kind != .tunnel && $0.kind != .loopback }
    return carriers.isEmpty
      || carriers.contains { link in
        link.state == .up && addresses.values.contains { $0.key.link == link.index && $0.reachesBeyondItsLink }
      }
  }

  /// The interface that probably carries the traffic of a tunnel: that of the next default route, or the only one up.
  private func carrier(_ interfaces: [PathInterface], behind routes: [DefaultRoute]) -> PathInterface? {
    let others = interfaces.filter { $0.kind != .tunnel && $0.kind != .loopback && $0.link == .up }
    let routed = others.first { interface in routes.contains { Int($0.link) == interface.index } }
    return routed ?? (others.count == 1 ? others.first : nil)
  }

  private func interfaces(inOrderOf routes: [DefaultRoute]) -> [PathInterface] {
    var ranks: [Int32: Int] = [:]
    for (rank, route) in routes.enumerated() where ranks[route.link] == nil { ranks[route.link] = rank }
    var own: [Int32: [IPAddress]] = [:]
    for address in addresses.values where address.isUsable {
      own[address.key.link, default: []].append(address.key.address)
    }
    return links.values
      .sorted { (ranks[$0.index] ?? .max, $0.index) < (ranks[$1.index] ?? .max, $1.index) }
      .map { link in
        PathInterface(
          index: Int(link.index), name: link.name, kind: link.kind, link: link.state,
          addresses: (own[link.index] ?? []).sorted { $0.bytes < $1.bytes }, isTethered: link.isTethered)
      }
  }

  /// Returns the first missing condition, when no route is usable.
  private func unsatisfiedReason(_ interfaces: [PathInterface]) -> PathUnsatisfiedReason {
    let candidates = interfaces.filter { $0.kind != .loopback }
    if candidates.isEmpty { return .noInterface }
    if let waiting = candidates.first(where: { $0.link == .dormant || $0.kind == .cellular && $0.link != .up }) {
      return .waiting(interface: waiting.name)
    }
    if candidates.allSatisfy({ $0.link == .down }) { return .interfacesDown }
    guard candidates.contains(where: { $0.link == .up }) else { return .noCarrier }
    if !routes.isEmpty { return .unusableDefaultRoute }
    let hasAddress = addresses.values.contains { address in
      address.reachesBeyondItsLink && links[address.key.link].map { $0.kind != .loopback && $0.state == .up } ?? false
    }
    return hasAddress ? .noDefaultRoute : .noAddress
  }
}

extension Reachability {
  fileprivate var unsatisfiedReason: PathUnsatisfiedReason? {
    switch self {
    case .reachable: nil
    case .portal: .portal
    case .unreachable: .unreachable
    }
  }
}

/// Lexicographic order.
private func < (a: [UInt8], b: [UInt8]) -> Bool { a.lexicographicallyPrecedes(b) }

private func < (a: (UInt32, Int32, [UInt8]), b: (UInt32, Int32, [UInt8])) -> Bool {
  (a.0, a.1) != (b.0, b.1) ? (a.0, a.1) < (b.0, b.1) : a.2 < b.2
}
