import BlueZ
import DBus
import Streams

/// Receives the notifications of one characteristic from its program, and delivers them to the subscribed centrals.
final class Notifier: Sendable {
  typealias Listener = @Sendable ([UInt8]) -> Void

  private struct State {
    /// By the device objects of the subscribed centrals, at the adapter of the program.
    var listeners: [ObjectPath: Listener] = [:]
    /// The sockets by the central that each was made for; below 5.69 there is one for all.
    var sockets: [ObjectPath?: PacketSocket] = [:]
    /// The substitute for a socket where the program provides none.
    var changes: Subscription?
  }

  private let attribute: Attribute
  private let path: ObjectPath
  private let version: BlueZRelease
  private let connection: Connection
  private let state = Lock(State())
  /// Serializes subscriptions.
  private let queue = SerialQueue()

  init(_ attribute: Attribute, _ path: ObjectPath, _ version: BlueZRelease, _ connection: Connection) {
    self.attribute = attribute
    self.path = path
    self.version = version
    self.connection = connection
  }

  /// Subscribes a central. Values that the program sends from now on reach the listener.
  func add(_ central: ObjectPath, mtu: UInt16, _ listener: @escaping Listener) async throws {
    state.withLock { $0.listeners[central] = listener }
    do {
      try await queue.run { [self] in try await open(for: central, mtu) }
    } catch {
      remove(central)
      throw error
    }
  }

  private func open(for central: ObjectPath, _ mtu: UInt16) async throws {
    let key = version.socketForEachPeer ? central : nil
    guard state.withLock({ $0.sockets[key] == nil && $0.changes == nil }) else { return }
    guard attribute.givesNotifySocket else { return try await startNotify() }
    let options: [String: Value] = ["device": .objectPath(central), "mtu": .uint16(mtu), "link": "LE"]
    let reply = try await connection.call(
      attribute.owner, path, Names.characteristic, "AcquireNotify", [.properties(options)], returning: "hq")
    guard let descriptor = reply[0].fileDescriptor else { throw DBusError.bluez("Failed", "Operation failed") }
    let socket = try PacketSocket(
      owning: descriptor, onPacket: { [weak self] in self?.deliver($0, from: key) },
      onClose: { [weak self] in self?.state.withLock { $0.sockets[key] = nil } })
    state.withLock { $0.sockets[key] = socket }
  }

  private func startNotify() async throws {
    let rule = MatchRule(sender: attribute.owner, path: path, member: "PropertiesChanged")
    let changes = try await connection.observe(rule) { [weak self] signal in
      guard let value = signal.propertiesChanged?.changed["Value"]?.bytes else { return }
      self?.deliver(value, from: nil)
    }
    state.withLock { $0.changes = changes }
    try await connection.call(attribute.owner, path, Names.characteristic, "StartNotify", returning: "")
  }

  private func deliver(_ value: [UInt8], from socket: ObjectPath?) {
    let listeners = state.withLock { state -> [Listener] in
      guard version.notifiesPeersApart, let socket else { return Array(state.listeners.values) }
      return state.listeners[socket].map { [$0] } ?? []
    }
    for listener in listeners { listener(value) }
  }

  /// Reports to the program that a central has confirmed an indication, in the way of this release.
  func confirmed(by central: ObjectPath) {
    if version.confirmsOnSocket {
      // A full socket loses the byte, as bluetoothd does.
      _ = try? state.withLock({ $0.sockets[central] })?.sendNow([1])
    } else if !version.losesConfirmations {
      callWithoutReply("Confirm")
    }
  }

  private func callWithoutReply(_ member: String) {
    // A program that has terminated needs no call.
    try? connection.callWithoutReply(attribute.owner, path, Names.characteristic, member)
  }

  /// Ends a central's subscription; with the last one the program's subscription ends too.
  /// - Returns: `true` if there are no subscribers left.
  @discardableResult
  func remove(_ central: ObjectPath) -> Bool {
    let isLast = state.withLock { state in
      state.listeners[central] = nil
      // The key is of an optional type: `[central] = nil` alone would be of another.
      state.sockets.removeValue(forKey: .some(central))?.close()
      return state.listeners.isEmpty
    }
    if isLast { close() }
    return isLast
  }

  /// Ends all subscriptions.
  func close() {
    let (sockets, hadChanges) = state.withLock { state in
      defer { state = State() }
      return (Array(state.sockets.values), state.changes != nil)
    }
    for socket in sockets { socket.close() }
    if hadChanges { callWithoutReply("StopNotify") }
  }
}
