/// The facts about a path that are not in the kernel's tables.
struct PathSurroundings: Sendable, Equatable {
  var dnsServers: [IPAddress] = []
  /// The estimate of the metered source; `nil` without one.
  var metered: Metered?
  var reachability: Reachability?
}

extension PathTables {
  /// Returns the path that results from the tables.
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
      path.isExpensive = preferred.kind == .cellular || preferred.isTethered
      path.isConstrained = links[Int32(preferred.index)]?.device.type == "bluetooth"
    }
    return path
  }

  /// The usable default routes, the preferred one first.
  private var usableRoutes: [DefaultRoute] {
    let order: (DefaultRoute, DefaultRoute) -> Bool = { a, b in
      (a.metric, a.link, a.gateway?.bytes ?? []) < (b.metric, b.link, b.gateway?.bytes ?? [])
    }
    return IPAddress.Family.allCases.flatMap { family in
      let all = routes.filter { $0.family == family }.sorted(by: order)
      // A route that rejects packets hides all routes after it.
      let end = all.filter(\.refuses).map(\.metric).min()
      return all.filter { route in end.map { route.metric < $0 } ?? true }.filter(isUsable)
    }
  }

  private func isUsable(_ route: DefaultRoute) -> Bool {
    guard !route.isDead, let link = links[route.link], link.state == .up else { return false }
    // The address may be on the loopback interface, as on routers.
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
