/// The identifier of the peer at the other end of a connection.
///
/// Over BlueZ the identifier is the D-Bus object path of the device. An identifier is stable for one connection.
public struct PeerID: Sendable, Hashable, CustomStringConvertible {
  /// The name that the transport uses for the peer.
  public var rawValue: String

  /// Creates an identifier from the name that the transport uses.
  public init(_ rawValue: String) { self.rawValue = rawValue }

  /// The name that the transport uses for the peer.
  public var description: String { rawValue }
}
