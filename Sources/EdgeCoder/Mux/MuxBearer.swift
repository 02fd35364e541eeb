/// The transport below a v2 mux.
public enum MuxBearer: String, Sendable, Hashable, CaseIterable, Codable {
  /// An LE L2CAP channel, which has flow control down to the radio and one receiver.
  case l2cap
  /// A GATT characteristic, for systems where no L2CAP channel is available.
  ///
  /// Before BlueZ 5.76 the notifications reach all subscribed centrals, as those of the response characteristic do.
  case gatt
}
