import BlueZ
import DBus

/// A characteristic of a remote device: `org.bluez.GattCharacteristic1` as a central sees it.
final class MirroredCharacteristic: Sendable {
  private struct State {
    /// Held by the program that acquired it.
    var notifySocket: PacketSocket?
    var writeSocket: PacketSocket?
    /// Who called `StartNotify`.
    var clients: Set<String> = []
    /// What waits while notifications stall.
    var stalled: [[UInt8]] = []
    var onRepair: Int?
  }

  let attribute: Attribute
  let object: ServedObject
  private let faults: Faults
  private let longestValue: Int
  private let state = Lock(State())

  init(
    _ attribute: Attribute, at place: Place, below service: ObjectPath, faults: Faults, daemon: Daemon,
    connection: Connection, mtu: UInt16
  ) throws {
    self.attribute = attribute
    self.faults = faults
    longestValue = Int(mtu) - 3
    let flags = attribute.shownFlags
    var values: [String: Value] = [
      "UUID": .string(attribute.uuid), "Service": .objectPath(service), "Flags": .strings(flags), "MTU": .uint16(mtu),
      "Notifying": false,
    ]
    if flags.contains("notify") { values["NotifyAcquired"] = false }
    if flags.contains("write-without-response") { values["WriteAcquired"] = false }
    object = try ServedObject(
      connection, try service.appending(attribute.name("char")),
      [
        .init(
          name: Names.characteristic,
          types: [
            "UUID": "s", "Service": "o", "Flags": "as", "MTU": "q", "Notifying": "b", "NotifyAcquired": "b",
            "WriteAcquired": "b", "Value": "ay",
          ], values: values,
          methods: daemon.attributeMethods(attribute, Names.characteristic, at: place)
            + daemon.characteristicMethods(attribute, at: place))
      ], logger: daemon.logger)
    let id = faults.onRepair { [weak self] in self?.flush() }
    state.withLock { $0.onRepair = id }
  }

  deinit {
    if let id = state.withLock({ $0.onRepair }) { faults.stop(onRepair: id) }
  }

  func part(of descriptor: Attribute, at place: Place, daemon: Daemon) -> ServedObject.Part {
    .init(
      name: Names.descriptor, types: ["UUID": "s", "Characteristic": "o", "Value": "ay"],
      values: ["UUID": .string(descriptor.uuid), "Characteristic": .objectPath(object.path)],
      methods: daemon.attributeMethods(descriptor, Names.descriptor, at: place))
  }

  // MARK: Values from the peer

  /// Takes a notification or an indication off the air, in order.
  func receive(_ value: [UInt8]) {
    // bluetoothd cuts what is too long, and loses what is empty.
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
    if let socket = state.notifySocket {
      // bluetoothd does not wait for a reader: what the socket has no room for is lost, and so is a closed socket's.
      _ = try? socket.sendNow(value)
    } else if !state.clients.isEmpty {
      object.set(Names.characteristic, ["Value": .bytes(value)], repeating: ["Value"])
    }
  }

  // MARK: Who listens and writes

  var isNotifying: Bool { state.withLock { $0.notifySocket != nil || !$0.clients.isEmpty } }
  var hasNotifySocket: Bool { state.withLock { $0.notifySocket != nil } }
  var hasWriteSocket: Bool { state.withLock { $0.writeSocket != nil } }

  func setNotifySocket(_ socket: PacketSocket?) {
    let old = state.withLock { state in
      defer { state.notifySocket = socket }
      return state.notifySocket
    }
    old?.close()
    if attribute.allows("notify") {
      object.set(Names.characteristic, ["NotifyAcquired": .bool(socket != nil), "Notifying": .bool(isNotifying)])
    }
  }

  func setWriteSocket(_ socket: PacketSocket?) {
    let old = state.withLock { state in
      defer { state.writeSocket = socket }
      return state.writeSocket
    }
    old?.close()
    object.set(Names.characteristic, ["WriteAcquired": .bool(socket != nil)])
  }

  /// - Returns: whether it was not there before.
  func addClient(_ client: String) -> Bool {
    let isNew = state.withLock { $0.clients.insert(client).inserted }
    object.set(Names.characteristic, ["Notifying": .bool(isNotifying)])
    return isNew
  }

  /// - Returns: whether it was there.
  @discardableResult
  func removeClient(_ client: String) -> Bool {
    let wasThere = state.withLock { $0.clients.remove(client) != nil }
    object.set(Names.characteristic, ["Notifying": .bool(isNotifying)])
    return wasThere
  }

  func linkEnded() {
    state.withLock { state in
      state.clients = []
      state.stalled = []
    }
    if hasNotifySocket { setNotifySocket(nil) }
    if hasWriteSocket { setWriteSocket(nil) }
    object.set(Names.characteristic, ["Notifying": false])
  }
}
