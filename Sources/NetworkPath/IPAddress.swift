import Glibc

/// An IPv4 or IPv6 address.
public struct IPAddress: Sendable, Hashable, CustomStringConvertible {
  /// Which of the two protocols it belongs to.
  public enum Family: Sendable, Hashable, CaseIterable {
    /// IPv4, four bytes.
    case v4
    /// IPv6, sixteen bytes.
    case v6
  }

  /// The address in network order: 4 or 16 bytes.
  public let bytes: [UInt8]

  /// Makes an address of its bytes in network order.
  /// - Returns: `nil` unless there are 4 or 16.
  public init?(bytes: [UInt8]) {
    guard bytes.count == 4 || bytes.count == 16 else { return nil }
    self.bytes = bytes
  }

  /// Reads `192.0.2.1` or `2001:db8::1`; a zone (`%eth0`) is ignored.
  /// - Returns: `nil` when it is neither.
  public init?(_ text: some StringProtocol) {
    let text = text.prefix { $0 != "%" }
    for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
      var bytes = [UInt8](repeating: 0, count: count)
      if inet_pton(family, String(text), &bytes) == 1 {
        self.bytes = bytes
        return
      }
    }
    return nil
  }

  /// The protocol it belongs to.
  public var family: Family { bytes.count == 4 ? .v4 : .v6 }

  /// Whether it stays inside the machine: 127.0.0.0/8 or ::1.
  public var isLoopback: Bool {
    family == .v4 ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
  }

  /// Whether it is good on one link only: 169.254.0.0/16 or fe80::/10.
  public var isLinkLocal: Bool {
    family == .v4 ? bytes[0] == 169 && bytes[1] == 254 : bytes[0] == 0xfe && bytes[1] & 0xc0 == 0x80
  }

  /// The usual text form.
  public var description: String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    inet_ntop(family == .v4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count))
    return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

extension IPAddress.Family: CustomStringConvertible {
  /// "IPv4" or "IPv6".
  public var description: String { self == .v4 ? "IPv4" : "IPv6" }
}
