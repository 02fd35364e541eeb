/// What is known from elsewhere than the kernel's tables.
struct PathSurroundings: Sendable, Equatable {
  var dnsServers: [IPAddress] = []
  /// What NetworkManager says; `nil` without it.
  var metered: Metered?
  var reachability: Reachability?
}

extension PathTables {
  /// The path these tables make.
  func snapshot(_ surroundings: PathSurroundings = PathSurroundings()) -> PathSnapshot {
    let routes = usableRoutes
    let interfaces = interfaces(inOrderOf: routes)
    let preferred = routes.isEmpty ? nil : interfaces.first
    var path = PathSnapshot(
      status: .satisfied, interfaces: interfaces,
      gateways: routes.map {
        .init(address: $0.gateway, family: $0.family, interface: links[$0.link]?.name ?? "?")
      },
      dnsServers: surroundings.dnsServers, reachability: surroundings.reachability)
    path.obstacle = routes.isEmpty ? obstacle(interfaces) : surroundings.reachability?.obstacle
    switch path.obstacle {
    case nil: break
    case .waiting, .portal: path.status = .requiresConnection
    default: path.status = .unsatisfied
    }
    if let metered = surroundings.metered {
      path.hintSource = .networkManager
      path.isExpensive = metered != .no
      path.isConstrained = metered == .yes
    } else if let preferred {
      path.isExpensive = preferred.kind == .cellular || preferred.isTethered
      path.isConstrained = links[Int32(preferred.index)]?.device.type == "bluetooth"
    }
    return path
  }

  /// The default routes that packets can take, the preferred one first.
  private var usableRoutes: [DefaultRoute] {
    let order: (DefaultRoute, DefaultRoute) -> Bool = { a, b in
      (a.metric, a.link, a.gateway?.bytes ?? []) < (b.metric, b.link, b.gateway?.bytes ?? [])
    }
    return IPAddress.Family.allCases.flatMap { family in
      let all = routes.filter { $0.family == family }.sorted(by: order)
      // One that refuses packets hides all that come after it.
      let end = all.filter(\.refuses).map(\.metric).min()
      return all.filter { route in end.map { route.metric < $0 } ?? true }.filter(isUsable)
    }
  }

  private func isUsable(_ route: DefaultRoute) -> Bool {
    guard !route.isDead, let link = links[route.link], link.state == .up else { return false }
    // The address may be the machine's own, on the loopback, as routers have it.
    return addresses.values.contains { address in
      address.key.address.family == route.family && address.reachesBeyondItsLink
        && (address.key.link == route.link || links[address.key.link]?.kind == .loopback)
    }
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

  /// What is missing, when no route can be used.
  private func obstacle(_ interfaces: [PathInterface]) -> PathObstacle {
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
  fileprivate var obstacle: PathObstacle? {
    switch self {
    case .reachable: nil
    case .portal: .portal
    case .unreachable: .unreachable
    }
  }
}

/// In the order of the first byte that differs; a shorter array goes first when it is the longer one's beginning.
private func < (a: [UInt8], b: [UInt8]) -> Bool { a.lexicographicallyPrecedes(b) }

private func < (a: (UInt32, Int32, [UInt8]), b: (UInt32, Int32, [UInt8])) -> Bool {
  (a.0, a.1) != (b.0, b.1) ? (a.0, a.1) < (b.0, b.1) : a.2 < b.2
}
