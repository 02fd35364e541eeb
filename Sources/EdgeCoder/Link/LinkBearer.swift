/// What carries a v2 link.
public enum LinkBearer: String, Sendable, Hashable, CaseIterable, Codable {
  /// An LE L2CAP channel: it has flow control down to the radio, and is nobody else's to hear.
  case l2cap
  /// A GATT characteristic, where a channel cannot be had. Below BlueZ 5.76 all centrals that use it hear its
  /// notifications, as they hear those of the response characteristic.
  case gatt
}
