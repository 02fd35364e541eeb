/// The limits of the Attribute Protocol, in bytes.
enum AttributeLimits {
  /// The longest attribute value (Core Specification 3.F.3.2.9).
  static let value = 512
  /// The smallest ATT MTU of LE (Core Specification 3.G.5.2.1), assumed where bluetoothd does not report one.
  static let smallestMTU = 23
}
