/// A network interface, as the kernel sees it.
public struct PathInterface: Sendable, Hashable {
  /// What an interface is connected to.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// A wireless network (IEEE 802.11).
    case wifi
    /// A cable, or what behaves like one: a bridge, a bond, a container's end of a virtual cable.
    case ethernet
    /// A modem in a mobile network.
    case cellular
    /// The machine itself.
    case loopback
    /// A VPN or another tunnel through one of the others.
    case tunnel
    /// None of these, or not known: PPP, Bluetooth PAN, InfiniBand, an interface that only tests use.
    case other
  }

  /// Whether packets can pass.
  public enum Link: String, Sendable, Hashable, CaseIterable {
    /// Switched off by whoever administers the machine.
    case down
    /// Switched on, but no cable, no radio link, or the other end is off.
    case noCarrier
    /// Connected, but something has to be agreed on first, such as 802.1X.
    case dormant
    /// Packets can pass.
    case up
  }

  /// The kernel's number of it: unique among those present, and kept when it is renamed.
  public var index: Int
  /// Its name, such as `eth0`.
  public var name: String
  /// What it is connected to.
  public var kind: Kind
  /// Whether packets can pass.
  public var link: Link
  /// Its addresses, in the order of their bytes, without those that cannot be used yet (or at all, because another
  /// machine has them).
  public var addresses: [IPAddress]
  /// Whether it goes through a telephone, as USB or Bluetooth tethering do. A hint: known from its driver.
  public var isTethered: Bool

  /// Makes an interface, for tests of what uses one.
  public init(
    index: Int, name: String, kind: Kind, link: Link = .up, addresses: [IPAddress] = [], isTethered: Bool = false
  ) {
    self.index = index
    self.name = name
    self.kind = kind
    self.link = link
    self.addresses = addresses
    self.isTethered = isTethered
  }
}
