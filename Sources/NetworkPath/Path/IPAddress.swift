import Glibc

/// An IPv4 or IPv6 address without a port.
///
/// ```swift
/// if let address = IPAddress("2001:db8::1") {
///   print(address.family, address.isLinkLocal)  // IPv6 false
/// }
/// ```
public struct IPAddress: Sendable, Hashable, CustomStringConvertible {
  /// The Internet Protocol version of an address.
  public enum Family: Sendable, Hashable, CaseIterable {
    /// Internet Protocol version 4, with addresses of 4 bytes.
    case v4
    /// Internet Protocol version 6, with addresses of 16 bytes.
    case v6
  }

  /// The 4 or 16 bytes of the address in network order.
  public let bytes: [UInt8]

  /// Creates an address from its bytes in network order.
  /// - Returns: `nil` unless there are 4 or 16 bytes.
  public init?(bytes: [UInt8]) {
    guard bytes.count == 4 || bytes.count == 16 else { return nil }
    self.bytes = bytes
  }

  /// Creates an address from its text, such as `192.0.2.1` or `2001:db8::1`.
  ///
  /// A zone (`%eth0`) is ignored.
  /// - Returns: `nil` if the text is no address of either family.
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

  /// The Internet Protocol version of the address.
  public var family: Family { bytes.count == 4 ? .v4 : .v6 }

  /// A Boolean value that indicates whether the address is a loopback address: 127.0.0.0/8 or ::1.
  public var isLoopback: Bool {
    family == .v4 ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
  }

  /// A Boolean value that indicates whether the address is valid on one link only: 169.254.0.0/16 or fe80::/10.
  public var isLinkLocal: Bool {
    family == .v4 ? bytes[0] == 169 && bytes[1] == 254 : bytes[0] == 0xfe && bytes[1] & 0xc0 == 0x80
  }

  /// The text of the address, such as `192.0.2.1` or `2001:db8::1`.
  public var description: String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    inet_ntop(family == .v4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count))
    return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

extension IPAddress.Family: CustomStringConvertible {
  /// The name for display: "IPv4" or "IPv6".
  public var description: String { self == .v4 ? "IPv4" : "IPv6" }
}
