internal import FoundationEssentials
internal import Glibc

/// The hosts that are reached without a proxy: this one, and those that `NO_PROXY` names.
struct ProxyExceptions: Sendable, Hashable {
  private enum Host: Hashable {
    case all
    /// A host name, with every name below it.
    case name(String)
    /// The addresses with a common prefix of so many bits; of one address, all its bits.
    case addresses([UInt8], bits: Int)
  }

  private struct Exception: Hashable {
    var host: Host
    /// The port; `nil` for every port.
    var port: Int?
  }

  private let list: [Exception]

  /// Creates a list from the value of the variable: names, `.suffix`, addresses and CIDR blocks, each optionally with a
  /// port, separated by commas or spaces; `*` for all hosts. Other entries are ignored.
  init(_ text: String) {
    list = text.split { $0 == "," || $0.isWhitespace }.compactMap { Self.exception(String($0).lowercased()) }
  }

  /// Returns whether a host is reached directly.
  func contain(host: String, port: Int) -> Bool {
    var name = host.trimmingBrackets.lowercased()
    while name.hasSuffix(".") { name.removeLast() }
    let address = Self.address(name)
    if name == "localhost" || name.hasSuffix(".localhost") || address.map(Self.isLoopback) == true { return true }
    return list.contains { exception in
      guard exception.port == nil || exception.port == port else { return false }
      switch exception.host {
      case .all: return true
      case .name(let suffix): return address == nil && (name == suffix || name.hasSuffix("." + suffix))
      case .addresses(let block, let bits): return address.map { Self.share(bits, $0, block) } ?? false
      }
    }
  }

  private static func exception(_ entry: String) -> Exception? {
    if entry == "*" { return Exception(host: .all) }
    if let block = block(entry) { return Exception(host: block) }
    var host = entry
    var port: Int?
    if let colon = entry.lastIndex(of: ":"), let number = Int(entry[entry.index(after: colon)...]) {
      host = String(entry[..<colon])
      port = number
    }
    if let address = address(host.trimmingBrackets) {
      return Exception(host: .addresses(address, bits: address.count * 8), port: port)
    }
    let name = host.drop { $0 == "*" || $0 == "." }
    guard !name.isEmpty, !name.contains(where: { ":/[]*".contains($0) }) else { return nil }
    return Exception(host: .name(String(name)), port: port)
  }

  /// Returns the addresses of `10.0.0.0/8`, or of a lone address without a port, which can contain colons.
  private static func block(_ entry: String) -> Host? {
    let parts = entry.split(separator: "/", omittingEmptySubsequences: false)
    guard let address = address(String(parts[0]).trimmingBrackets) else { return nil }
    if parts.count == 1 { return .addresses(address, bits: address.count * 8) }
    guard parts.count == 2, let bits = Int(parts[1]), (0...address.count * 8).contains(bits) else { return nil }
    return .addresses(address, bits: bits)
  }

  /// The bytes of an address: 4 or 16; one of IPv4 within IPv6 has 4.
  private static func address(_ text: String) -> [UInt8]? {
    var four = [UInt8](repeating: 0, count: 4)
    if inet_pton(AF_INET, text, &four) == 1 { return four }
    var sixteen = [UInt8](repeating: 0, count: 16)
    guard inet_pton(AF_INET6, text, &sixteen) == 1 else { return nil }
    let isMapped = sixteen[..<10].allSatisfy { $0 == 0 } && sixteen[10] == 0xff && sixteen[11] == 0xff
    return isMapped ? Array(sixteen[12...]) : sixteen
  }

  private static func isLoopback(_ address: [UInt8]) -> Bool {
    address.count == 4 ? address[0] == 127 : address == [UInt8](repeating: 0, count: 15) + [1]
  }

  private static func share(_ bits: Int, _ a: [UInt8], _ b: [UInt8]) -> Bool {
    guard a.count == b.count else { return false }
    return a.indices.allSatisfy { index in
      let left = min(max(bits - index * 8, 0), 8)
      return (a[index] ^ b[index]) & UInt8(truncatingIfNeeded: 0xff00 >> left) == 0
    }
  }
}
