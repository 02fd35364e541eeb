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
  /// bluetoothd runs, and did not return its objects, the given number of times in a row.
  case unreadable(Attachment, BlueZError, failures: Int)
  /// bluetoothd runs, and the cache contains its objects.
  case serviceUp(Attachment)
  /// The session was closed, which is final.
  case closed

  /// The connection to the bus; `nil` without one.
  var connection: Connection? {
    switch self {
    case .disconnected, .closed: nil
    case .serviceAbsent(let attachment), .unreadable(let attachment, _, _), .serviceUp(let attachment):
      attachment.connection
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
    case .serviceAbsent(let attachment), .unreadable(let attachment, _, _), .serviceUp(let attachment):
      guard attachment.connection === connection else { return false }
      self = .serviceUp(attachment)
      return true
    case .disconnected, .closed: return false
    }
  }

  /// Records that bluetoothd did not return its objects.
  /// - Returns: The number of failures in a row; `nil` when they have been read meanwhile, or the connection is gone.
  mutating func readingFailed(_ error: BlueZError, on connection: Connection) -> Int? {
    switch self {
    case .serviceAbsent(let attachment) where attachment.connection === connection:
      self = .unreadable(attachment, error, failures: 1)
      return 1
    case .unreadable(let attachment, _, let failures) where attachment.connection === connection:
      self = .unreadable(attachment, error, failures: failures + 1)
      return failures + 1
    case .disconnected, .serviceAbsent, .unreadable, .serviceUp, .closed: return nil
    }
  }

  /// Records that bluetoothd left the bus.
  mutating func serviceVanished() {
    switch self {
    case .unreadable(let attachment, _, _), .serviceUp(let attachment): self = .serviceAbsent(attachment)
    case .disconnected, .serviceAbsent, .closed: break
    }
  }

  /// Records that the connection broke.
  mutating func detach() {
    if !isClosed { self = .disconnected }
  }
}
