import JSONValues
import NetworkPath

extension PathSnapshot {
  var json: [String: JSONValue] {
    [
      "status": .string(status.rawValue), "obstacle": JSONValue(unsatisfiedReason?.description),
      "ipv4": .bool(supportsIPv4),
      "ipv6": .bool(supportsIPv6), "interfaces": .array(interfaces.map(\.json)),
      "gateways": .array(gateways.map(\.json)),
      "dnsServers": .array(dnsServers.map { .string($0.description) }), "isExpensive": .bool(isExpensive),
      "isConstrained": .bool(isConstrained), "hintSource": .string(hintSource.rawValue),
      "reachability": JSONValue(reachability?.rawValue),
    ]
  }
}

extension PathUpdate {
  var json: [String: JSONValue] {
    path.json.merging([
      "number": .number(number), "changes": .array(changes.map { .string($0.description) }),
    ]) { $1 }
  }
}

extension PathInterface {
  fileprivate var json: JSONValue {
    .object([
      "index": .number(index), "name": .string(name), "kind": .string(kind.rawValue), "link": .string(link.rawValue),
      "addresses": .array(addresses.map { .string($0.description) }), "isTethered": .bool(isTethered),
    ])
  }
}

extension PathSnapshot.Gateway {
  fileprivate var json: JSONValue {
    .object([
      "address": JSONValue(address?.description), "family": .string(family.description),
      "interface": .string(interface),
    ])
  }
}
