/// A network interface of this host with its state and addresses.
///
/// ```swift
/// let interface = PathInterface(index: 2, name: "wlan0", kind: .wifi)
/// print(interface.name, interface.link)  // wlan0 up
/// ```
public struct PathInterface: Sendable, Hashable {
  /// The kind of network that an interface connects to.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// A wireless network (IEEE 802.11).
    case wifi
    /// A wired network, or an interface that behaves like one: a bridge, a bond, the container's end of a veth pair.
    case ethernet
    /// A mobile network, reached through a modem.
    case cellular
    /// The loopback interface of the host.
    case loopback
    /// A VPN or another tunnel through another interface.
    case tunnel
    /// Any other or unknown kind: PPP, Bluetooth PAN, InfiniBand, dummy interfaces.
    case other
  }

  /// The link state of an interface, which says whether packets can pass.
  public enum Link: String, Sendable, Hashable, CaseIterable {
    /// The interface is administratively down.
    case down
    /// The interface is up and has no carrier: no cable, no radio network, or the peer is off.
    case noCarrier
    /// The interface has a carrier and waits for a protocol such as 802.1X.
    case dormant
    /// The interface is up, and packets can pass.
    case up
  }

  /// The kernel's index of the interface: unique among the present ones, and kept when the interface is renamed.
  public var index: Int
  /// The name of the interface, such as `eth0`.
  public var name: String
  /// The kind of network that the interface connects to.
  public var kind: Kind
  /// The link state, which says whether packets can pass.
  public var link: Link
  /// The usable addresses of the interface, in the order of their bytes.
  ///
  /// An address whose duplicate detection runs or has failed is not usable.
  public var addresses: [IPAddress]
  /// A Boolean value that indicates whether the interface is tethered to a phone over USB or Bluetooth.
  ///
  /// This is a hint, derived from the interface's driver.
  public var isTethered: Bool

  /// Creates an interface from its parts, for tests.
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
