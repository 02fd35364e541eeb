extension PathSnapshot {
  /// Returns the differences from an earlier snapshot, causes before consequences.
  func changes(since old: PathSnapshot) -> [PathChange] {
    var changes = interfaceChanges(since: old)
    let gone = old.gateways(named: newNames(since: old))
    changes += gone.filter { !gateways.contains($0) }.map { .gatewayRemoved($0) }
    changes += gateways.filter { !gone.contains($0) }.map { .gatewayAdded($0) }
    if old.dnsServers != dnsServers { changes.append(.dnsServers(from: old.dnsServers, to: dnsServers)) }
    if old.reachability != reachability {
      changes.append(.reachability(from: old.reachability, to: reachability))
    }
    // Not when it only has another name.
    if old.preferredInterface?.index != preferredInterface?.index {
      changes.append(.preferredInterface(from: old.preferredInterface?.name, to: preferredInterface?.name))
    }
    if old.isExpensive != isExpensive || old.isConstrained != isConstrained {
      changes.append(.hints(isExpensive: isExpensive, isConstrained: isConstrained))
    }
    if old.status != status { changes.append(.status(from: old.status, to: status)) }
    return changes
  }

  private func interfaceChanges(since old: PathSnapshot) -> [PathChange] {
    let before = Dictionary(old.interfaces.map { ($0.index, $0) }) { first, _ in first }
    let after = Set(interfaces.map(\.index))
    var changes = old.interfaces.filter { !after.contains($0.index) }.map { PathChange.interfaceRemoved($0.name) }
    for interface in interfaces {
      let name = interface.name
      if let was = before[interface.index] {
        if was.name != name { changes.append(.interfaceRenamed(from: was.name, to: name)) }
        if was.link != interface.link {
          changes.append(.link(interface: name, from: was.link, to: interface.link))
        }
        changes += was.addresses.filter { !interface.addresses.contains($0) }
          .map { .addressRemoved($0, interface: name) }
        changes += interface.addresses.filter { !was.addresses.contains($0) }
          .map { .addressAdded($0, interface: name) }
      } else {
        changes.append(.interfaceAdded(name))
        changes += interface.addresses.map { .addressAdded($0, interface: name) }
      }
    }
    return changes
  }

  /// The new names by the old ones: a route through a renamed interface is the same route.
  private func newNames(since old: PathSnapshot) -> [String: String] {
    let after = Dictionary(interfaces.map { ($0.index, $0.name) }) { first, _ in first }
    return Dictionary(old.interfaces.compactMap { was in after[was.index].map { (was.name, $0) } }) { first, _ in first
    }
  }

  private func gateways(named names: [String: String]) -> [Gateway] {
    gateways.map { gateway in
      Gateway(
        address: gateway.address, family: gateway.family, interface: names[gateway.interface] ?? gateway.interface)
    }
  }
}
