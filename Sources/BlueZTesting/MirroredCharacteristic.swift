import BlueZ
import DBus
import Streams

/// A characteristic of a remote device: `org.bluez.GattCharacteristic1` as a central sees it.
final class MirroredCharacteristic: Sendable {
  /// A socket whose other end a program holds.
  struct Acquired: Sendable {
    let socket: PacketSocket
    /// This end of the socket, which distinguishes one socket from the next.
    let end: FileDescriptor
  }

  private struct State {
    var notifySocket: Acquired?
    var writeSocket: Acquired?
    /// The clients that called `StartNotify`.
    var clients: Set<String> = []
    /// The values that wait while notifications stall.
    var stalled: [[UInt8]] = []
    var onRepair: Int?
  }

  let attribute: Attribute
  let object: ServedObject
  private let faults: Faults
  private let longestValue: Int
  private let state = Lock(State())

  init(
    _ attribute: Attribute, below service: ObjectPath, _ mirror: MirrorContext
  ) throws {
    let daemon = mirror.daemon
    self.attribute = attribute
    faults = mirror.faults
    longestValue = Int(mirror.mtu) - 3
    let flags = attribute.shownFlags
    var values: [String: Value] = [
      "UUID": .string(attribute.uuid), "Service": .objectPath(service), "Flags": .strings(flags),
      "MTU": .uint16(mirror.mtu),
      "Notifying": false,
    ]
    if flags.contains("notify") { values["NotifyAcquired"] = false }
    if flags.contains("write-without-response") { values["WriteAcquired"] = false }
    object = try ServedObject(
      mirror.connection, try service.appending(attribute.name("char")),
      [
        .init(
          name: Names.characteristic,
          types: [
            "UUID": "s", "Service": "o", "Flags": "as", "MTU": "q", "Notifying": "b", "NotifyAcquired": "b",
            "WriteAcquired": "b", "Value": "ay",
          ], values: values,
          methods: daemon.attributeMethods(attribute, Names.characteristic, at: mirror.place)
            + daemon.characteristicMethods(attribute, at: mirror.place))
      ], logger: daemon.logger)
    let id = faults.onRepair { [weak self] in self?.flush() }
    state.withLock { $0.onRepair = id }
  }

  deinit {
    if let id = state.withLock({ $0.onRepair }) { faults.stop(onRepair: id) }
  }

  func part(of descriptor: Attribute, _ mirror: MirrorContext) -> ServedObject.Part {
    .init(
      name: Names.descriptor, types: ["UUID": "s", "Characteristic": "o", "Value": "ay"],
      values: ["UUID": .string(descriptor.uuid), "Characteristic": .objectPath(object.path)],
      methods: mirror.daemon.attributeMethods(descriptor, Names.descriptor, at: mirror.place))
  }

  // MARK: Values from the peer

  /// Receives a notification or an indication, in order.
  func receive(_ value: [UInt8]) {
    // bluetoothd truncates long values and drops empty ones.
    let value = Array(value.prefix(longestValue))
    guard !value.isEmpty, !faults.dropsNotification() else { return }
    state.withLock { state in
      if faults.has(.notificationsStall) || !state.stalled.isEmpty {
        if state.stalled.count < Fault.stalledLimit { state.stalled.append(value) }
      } else {
        show(value, state)
      }
    }
  }

  private func flush() {
    state.withLock { state in
      for value in state.stalled { show(value, state) }
      state.stalled = []
    }
  }

  private func show(_ value: [UInt8], _ state: State) {
    if let socket = state.notifySocket?.socket {
      // bluetoothd does not wait for a reader: it drops values that do not fit, and those for a closed socket.
      _ = try? socket.sendNow(value)
    } else if !state.clients.isEmpty {
      object.set(Names.characteristic, ["Value": .bytes(value)], repeating: ["Value"])
    }
  }

  // MARK: Subscribers and writers

  var isNotifying: Bool { state.withLock { $0.notifySocket != nil || !$0.clients.isEmpty } }
  var hasNotifySocket: Bool { state.withLock { $0.notifySocket != nil } }
  var hasWriteSocket: Bool { state.withLock { $0.writeSocket != nil } }

  func acquire(notify socket: Acquired) {
    state.withLock { $0.notifySocket = socket }
    tellNotifying()
  }

  func acquire(write socket: Acquired) {
    state.withLock { $0.writeSocket = socket }
    object.set(Names.characteristic, ["WriteAcquired": true])
  }

  /// Closes the notification socket.
  /// - Parameter end: The socket that was closed, where that matters: the report may come when there is another one.
  func releaseNotify(_ end: FileDescriptor? = nil) {
    release(\.notifySocket, end)
    tellNotifying()
  }

  /// Closes the write socket; see ``releaseNotify(_:)``.
  func releaseWrite(_ end: FileDescriptor? = nil) {
    guard release(\.writeSocket, end) else { return }
    object.set(Names.characteristic, ["WriteAcquired": false])
  }

  @discardableResult
  private func release(_ which: WritableKeyPath<State, Acquired?>, _ end: FileDescriptor?) -> Bool {
    let old = state.withLock { state -> Acquired? in
      guard let held = state[keyPath: which], end == nil || end == held.end else { return nil }
      state[keyPath: which] = nil
      return held
    }
    old?.socket.close()
    return old != nil
  }

  private func tellNotifying() {
    var changes: [String: Value?] = ["Notifying": .bool(isNotifying)]
    if attribute.allows("notify") { changes["NotifyAcquired"] = .bool(hasNotifySocket) }
    object.set(Names.characteristic, changes)
  }

  /// - Returns: `true` if the client was not subscribed before.
  func addClient(_ client: String) -> Bool {
    let isNew = state.withLock { $0.clients.insert(client).inserted }
    tellNotifying()
    return isNew
  }

  /// - Returns: `true` if the client was subscribed.
  @discardableResult
  func removeClient(_ client: String) -> Bool {
    let wasThere = state.withLock { $0.clients.remove(client) != nil }
    tellNotifying()
    return wasThere
  }

  func linkEnded() {
    state.withLock { state in
      state.clients = []
      state.stalled = []
    }
    releaseNotify()
    releaseWrite()
  }
}
