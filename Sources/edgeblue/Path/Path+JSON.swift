import NetworkPath

extension PathSnapshot {
  var json: [String: JSON] {
    [
      "status": .string(status.rawValue), "obstacle": JSON(unsatisfiedReason?.description), "ipv4": .bool(supportsIPv4),
      "ipv6": .bool(supportsIPv6), "interfaces": .list(interfaces.map(\.json)), "gateways": .list(gateways.map(\.json)),
      "dnsServers": .list(dnsServers.map { .string($0.description) }), "isExpensive": .bool(isExpensive),
      "isConstrained": .bool(isConstrained), "hintSource": .string(hintSource.rawValue),
      "reachability": JSON(reachability?.rawValue),
    ]
  }
}

extension PathUpdate {
  var json: [String: JSON] {
    path.json.merging([
      "number": .number(number), "changes": .list(changes.map { .string($0.description) }),
    ]) { $1 }
  }
}

extension PathInterface {
  fileprivate var json: JSON {
    .object([
      "index": .number(index), "name": .string(name), "kind": .string(kind.rawValue), "link": .string(link.rawValue),
      "addresses": .list(addresses.map { .string($0.description) }), "isTethered": .bool(isTethered),
    ])
  }
}

extension PathSnapshot.Gateway {
  fileprivate var json: JSON {
    .object([
      "address": JSON(address?.description), "family": .string(family.description), "interface": .string(interface),
    ])
  }
}
