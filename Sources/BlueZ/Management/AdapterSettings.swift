/// The settings of an adapter as the kernel has them.
///
/// ```swift
/// let settings = try await adapter.settings()
/// if !settings.current.contains(.privacy) { print("advertises under its own address") }
/// ```
public struct AdapterSettings: Sendable, Hashable {
  /// A set of settings; those that this library does not know are kept in ``rawValue``.
  public struct Options: OptionSet, Sendable, Hashable, CustomStringConvertible {
    /// The bits, as the management interface numbers them.
    public let rawValue: UInt32

    /// Creates a set from the bits of the management interface.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The adapter is switched on.
    public static let powered = Options(rawValue: 1 << 0)
    /// The adapter accepts connections of other devices.
    public static let connectable = Options(rawValue: 1 << 1)
    /// The adapter can be discovered by Classic devices.
    public static let discoverable = Options(rawValue: 1 << 3)
    /// The adapter accepts and makes bonds.
    public static let bondable = Options(rawValue: 1 << 4)
    /// Bluetooth Classic (BR/EDR) is enabled.
    public static let classic = Options(rawValue: 1 << 7)
    /// Bluetooth Low Energy is enabled.
    public static let lowEnergy = Options(rawValue: 1 << 9)
    /// The kernel advertises on its own account.
    public static let advertising = Options(rawValue: 1 << 10)
    /// Secure Connections are used where the peer supports them; ``AdapterSettings/requiresSecureConnections`` is for
    /// all peers.
    public static let secureConnections = Options(rawValue: 1 << 11)
    /// Pairing accepts the published debug keys, which protect nothing.
    public static let debugKeys = Options(rawValue: 1 << 12)
    /// The adapter uses private addresses, which change, instead of its own one.
    public static let privacy = Options(rawValue: 1 << 13)
    /// The adapter uses a static random address.
    public static let staticAddress = Options(rawValue: 1 << 15)
    /// The PHYs can be chosen.
    public static let phyConfiguration = Options(rawValue: 1 << 16)

    private static let names: [(Options, String)] = [
      (.powered, "powered"), (.connectable, "connectable"), (.discoverable, "discoverable"), (.bondable, "bondable"),
      (.classic, "classic"), (.lowEnergy, "low energy"), (.advertising, "advertising"),
      (.secureConnections, "secure connections"), (.debugKeys, "debug keys"), (.privacy, "privacy"),
      (.staticAddress, "static address"), (.phyConfiguration, "PHY configuration"),
    ]

    /// The names of the known settings in the set, for display.
    public var description: String { Self.names.filter { contains($0.0) }.map(\.1).joined(separator: ", ") }
  }

  /// The settings that the controller and the kernel support.
  public var supported: Options
  /// The settings that are in force.
  public var current: Options
  /// A Boolean value that indicates whether pairing without Secure Connections is refused; `nil` where it is unknown.
  ///
  /// The management interface does not report it. It is read from the kernel's debugfs, which only root can read, and
  /// only where that is mounted.
  public var requiresSecureConnections: Bool?

  /// Creates settings from their fields, for tests of code that decides by them.
  public init(supported: Options, current: Options, requiresSecureConnections: Bool? = nil) {
    self.supported = supported
    self.current = current
    self.requiresSecureConnections = requiresSecureConnections
  }

  /// - Parameter information: The reply to Read Controller Information: address, version, manufacturer, supported and
  ///   current settings, class and names.
  init?(_ information: [UInt8]) {
    var fields = LittleEndianReader(information)
    guard fields.bytes(9) != nil, let supported = fields.uint32(), let current = fields.uint32() else { return nil }
    self.init(supported: Options(rawValue: supported), current: Options(rawValue: current))
  }

  /// The use of Secure Connections in pairing, see ``Adapter/setSecureConnections(_:)``.
  public enum SecureConnections: UInt8, Sendable, Hashable, CaseIterable {
    /// Legacy pairing only: whoever hears a pairing can have its keys.
    case off = 0
    /// Secure Connections with every peer that supports them, legacy pairing with others.
    case preferred = 1
    /// Secure Connections only; pairing with other peers is refused.
    case required = 2
  }

  /// The use of private addresses, see ``Adapter/setPrivacy(_:)``.
  public enum Privacy: Sendable, Hashable {
    /// The adapter uses its own address.
    case off
    /// The adapter always uses private addresses, made from a key of 16 bytes. Bonded peers have that key, so another
    /// key makes the adapter a stranger to them.
    case always(key: [UInt8])
    /// The adapter uses private addresses except while it is discoverable, made from a key as with `always`.
    case limited(key: [UInt8])

    /// The parameters of Set Privacy: the mode and the key.
    var parameters: [UInt8] {
      switch self {
      case .off: [0] + [UInt8](repeating: 0, count: 16)
      case .always(let key): [1] + key
      case .limited(let key): [2] + key
      }
    }
  }
}
