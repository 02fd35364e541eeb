import NetworkPath

extension PathSnapshot: Report {
  /// The path in one sentence, for display.
  var headline: String {
    if let reason = unsatisfiedReason {
      return status == .requiresConnection ? "No default route yet: \(reason)." : "No default route: \(reason)."
    }
    guard let preferred = preferredInterface else { return "There is a default route." }
    return "The default route uses \(preferred.name.printable) (\(preferred.kind.rawValue))."
  }

  /// The whole path, for display.
  var lines: [String] {
    let facts = [
      ("IPv4", out(.v4)), ("IPv6", out(.v6)),
      ("Name servers", dnsServers.isEmpty ? "unknown" : Self.list(dnsServers)),
      ("Cost", cost),
    ]
    return [headline, ""] + facts.map { $0.0.padded(to: 14) + $0.1 } + [""] + table
  }

  private func out(_ family: IPAddress.Family) -> String {
    let ways = gateways.filter { $0.family == family }
    return ways.isEmpty ? "no default route" : ways.map(\.description.printable).joined(separator: ", then ")
  }

  private var cost: String {
    let words = (isExpensive ? "metered" : "not metered") + (isConstrained ? ", low data use requested" : "")
    return words + (hintSource == .meteredSource ? " (from NetworkManager)" : " (estimated from the interface type)")
  }

  private var table: [String] {
    let rows = interfaces.map { interface in
      [
        interface.name.printable, interface.kind.rawValue, interface.link.words,
        interface.addresses.isEmpty ? "-" : Self.list(interface.addresses),
      ]
    }
    let all = [["INTERFACE", "KIND", "LINK", "ADDRESSES"]] + rows
    let widths = (0..<3).map { column in 2 + (all.map { $0[column].count }.max() ?? 0) }
    return all.map { row in
      zip(row, widths).map { $0.padded(to: $1) }.joined() + row[3]
    }
  }

  private static func list(_ addresses: [IPAddress]) -> String {
    addresses.map(\.description).joined(separator: ", ")
  }
}

extension PathInterface.Link {
  fileprivate var words: String {
    switch self {
    case .up: "up"
    case .down: "down"
    case .noCarrier: "no carrier"
    case .dormant: "dormant"
    }
  }
}
