import DBus

/// The sockets of characteristics that this session has closed since bluetoothd started. bluetoothd notices the end of a
/// socket later than a call that follows it, and until then it refuses another one.
struct ClosedSockets: Sendable {
  /// A socket of a characteristic, by the property that says that bluetoothd has given it away.
  struct Socket: Sendable, Hashable {
    let characteristic: ObjectPath
    let property: String

    static func writer(of path: ObjectPath) -> Socket { Socket(characteristic: path, property: "WriteAcquired") }
    static func subscription(of path: ObjectPath) -> Socket { Socket(characteristic: path, property: "NotifyAcquired") }
  }

  private var sockets: Set<Socket> = []

  mutating func note(_ socket: Socket) { sockets.insert(socket) }

  /// - Returns: `true` if the session has closed such a socket.
  mutating func take(_ socket: Socket) -> Bool { sockets.remove(socket) != nil }

  mutating func removeAll() { sockets = [] }
}
