import DBus

/// The state of the session's connection to the message bus, and of bluetoothd on that bus.
enum BusState: Sendable {
  /// A connection to the bus, with the subscriptions that keep the object cache current.
  struct Attachment: Sendable {
    let connection: Connection
    let subscriptions: [Subscription]
  }

  /// There is no connection: none was made yet, or the bus is gone.
  case disconnected
  /// The bus is connected, but bluetoothd is absent or its objects have not been read yet.
  case serviceAbsent(Attachment)
  /// bluetoothd runs, and the cache contains its objects.
  case serviceUp(Attachment)
  /// The session was closed, which is final.
  case closed

  /// The connection to the bus; `nil` without one.
  var connection: Connection? {
    switch self {
    case .disconnected, .closed: nil
    case .serviceAbsent(let attachment), .serviceUp(let attachment): attachment.connection
    }
  }

  var isServiceUp: Bool { if case .serviceUp = self { true } else { false } }

  var isClosed: Bool { if case .closed = self { true } else { false } }

  /// Takes a new connection.
  /// - Returns: `false` when the session was closed meanwhile.
  mutating func attach(_ attachment: Attachment) -> Bool {
    guard !isClosed else { return false }
    self = .serviceAbsent(attachment)
    return true
  }

  /// Records that the objects of bluetoothd were read.
  /// - Returns: `false` when they were read over an earlier connection.
  mutating func serviceAppeared(on connection: Connection) -> Bool {
    switch self {
    case .serviceAbsent(let attachment), .serviceUp(let attachment):
      guard attachment.connection === connection else { return false }
      self = .serviceUp(attachment)
      return true
    case .disconnected, .closed: return false
    }
  }

  /// Records that bluetoothd left the bus.
  mutating func serviceVanished() {
    if case .serviceUp(let attachment) = self { self = .serviceAbsent(attachment) }
  }

  /// Records that the connection broke.
  mutating func detach() {
    if !isClosed { self = .disconnected }
  }
}
