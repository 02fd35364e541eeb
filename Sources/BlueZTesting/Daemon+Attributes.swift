import BlueZ
import DBus

/// Reading, writing and subscribing across a connection.
extension Daemon {
  /// The longest attribute value (Core Specification 3.F.3.2.9), in bytes.
  private static let longestValue = 512

  /// The objects that a request needs to reach the program that provides the attribute.
  struct Way {
    let connection: Connection
    let link: Link
    /// The side that sends the request, and its device for the other side.
    let central: VirtualAdapter
    let device: VirtualDevice
    let peripheral: VirtualAdapter
    /// The central as the program sees it.
    let asked: ObjectPath

    var options: [String: Value] { ["device": .objectPath(asked), "mtu": .uint16(link.mtu), "link": "LE"] }
  }

  /// A method of a program's attribute that a request reaches.
  private struct Target {
    let way: Way
    let attribute: Attribute
    let path: ObjectPath
    let interface: String
  }

  func way(to place: Place) throws -> Way {
    let central = adapters[place.adapter]
    guard let device = central.devices[place.device], let link = device.link, let peripheral = peer(of: device),
      let other = peripheral.devices[central.address]
    else { throw DBusError.notConnected }
    return Way(
      connection: try living(), link: link, central: central, device: device, peripheral: peripheral,
      asked: other.object.path)
  }

  /// Encrypts the connection for an attribute that requires it, as bluetoothd does by itself. The fake does not pair
  /// again for a better key.
  /// - Parameter level: The security level that the attribute requires; nothing is done for `nil`.
  func encrypt(_ way: Way, to level: SecurityLevel?) async throws {
    guard let level else { return }
    do {
      try await encrypt(way.device, at: way.central)
    } catch is DBusError {
      throw DBusError.bluez("NotPermitted", "Not paired")
    }
    guard let key = way.link.key, key.level >= level else { throw DBusError.bluez("NotPermitted", "Not paired") }
  }

  /// The methods that characteristics and descriptors have in common.
  nonisolated func attributeMethods(
    _ attribute: Attribute, _ interface: String, at place: Place
  ) -> [Interface.Method] {
    let options = Interface.Argument("options", "a{sv}")
    return [
      method("ReadValue", [options], out: [.init("value", "ay")], of: place.adapter) { daemon, call in
        let value = try await daemon.read(attribute, interface, call.arguments[0].properties ?? [:], at: place)
        return [.bytes(value)]
      },
      method("WriteValue", [.init("value", "ay"), options], of: place.adapter) { daemon, call in
        try await daemon.write(
          call.arguments[0].bytes ?? [], to: attribute, interface, call.arguments[1].properties ?? [:], at: place)
        return []
      },
    ]
  }

  // MARK: Reading

  private func read(
    _ attribute: Attribute, _ interface: String, _ options: [String: Value], at place: Place
  ) async throws -> [UInt8] {
    let way = try way(to: place)
    guard let path = attribute.path else {
      guard let characteristic = way.device.characteristic(withDescriptor: attribute.handle) else {
        throw DBusError.notConnected
      }
      guard characteristic.isNotifying else { return [0, 0] }
      return [characteristic.attribute.allows("notify") ? 1 : 2, 0]
    }
    guard attribute.allows("read") else { throw DBusError.bluez("NotPermitted", "Read not permitted") }
    try await encrypt(way, to: attribute.required("read"))
    let target = Target(way: way, attribute: attribute, path: path, interface: interface)
    var value: [UInt8] = []
    let start = options["offset"]?.integer(as: Int.self) ?? 0
    // A part that fills the packet may be followed by another (Core Specification 3.F.3.4.4.5).
    let longest = Int(way.link.mtu) - 1
    var piece: ArraySlice<UInt8>
    repeat {
      var options = way.options
      if start + value.count > 0 { options["offset"] = .uint16(UInt16(clamping: start + value.count)) }
      let reply = try await call(target, "ReadValue", [.properties(options)], returning: "ay")
      piece = (reply[0].bytes ?? []).prefix(longest)
      value += piece
    } while piece.count == longest && start + value.count < Self.longestValue
    value = Array(value.prefix(max(Self.longestValue - start, 0)))
    way.device.characteristic(attribute.handle)?.object.set(
      Names.characteristic, ["Value": .bytes(value)], repeating: ["Value"])
    return value
  }

  // MARK: Writing

  private func write(
    _ value: [UInt8], to attribute: Attribute, _ interface: String, _ options: [String: Value], at place: Place
  ) async throws {
    let way = try way(to: place)
    guard let path = attribute.path else { throw DBusError.bluez("NotPermitted", "Write not permitted") }
    let offset = options["offset"]?.integer(as: UInt16.self) ?? 0
    let type = options["type"]?.string ?? (attribute.allows("write") || interface == Names.descriptor ? "" : "command")
    guard way.device.characteristic(attribute.handle)?.hasWriteSocket != true else {
      throw DBusError.bluez("NotPermitted", "Write acquired")
    }
    if type == "command" {
      guard attribute.allows("write-without-response") else { throw DBusError.notSupported }
      guard value.count <= Int(way.link.mtu) - 3 else { throw DBusError.bluez("Failed", "Failed to initiate write") }
      return Commands(to: attribute, path, way, try await programsWriteSocket(attribute, path, way)).send(value)
    }
    guard attribute.allows("write") else { throw DBusError.bluez("NotPermitted", "Write not permitted") }
    try await encrypt(way, to: attribute.required("write"))
    let isLong = type == "reliable" || offset > 0 || value.count > Int(way.link.mtu) - 3
    let longest = configuration.version.longestWrite
    guard Int(offset) + value.count <= (isLong ? longest.inPieces : longest.whole) else {
      throw DBusError.bluez("InvalidArguments", "Invalid Length")
    }
    var request = way.options
    request["type"] = isLong ? "reliable" : "request"
    if offset > 0 { request["offset"] = .uint16(offset) }
    if let socket = try await programsWriteSocket(attribute, path, way) {
      // 0x11 is "insufficient resources".
      guard (try? socket.sendNow(value)) == true else { throw DBusError.attributeError(0x11) }
      return
    }
    let target = Target(way: way, attribute: attribute, path: path, interface: interface)
    _ = try await call(target, "WriteValue", [.bytes(value), .properties(request)], returning: "")
  }

  /// Returns the socket from which the program takes writes; `nil` when it provides none.
  func programsWriteSocket(
    _ attribute: Attribute, _ path: ObjectPath, _ way: Way
  ) async throws -> PacketSocket? {
    guard attribute.givesWriteSocket else { return nil }
    if let open = way.peripheral.server.writeSockets[attribute] { return open }
    let target = Target(way: way, attribute: attribute, path: path, interface: Names.characteristic)
    let reply = try await call(target, "AcquireWrite", [.properties(way.options)], returning: "hq")
    guard let descriptor = reply[0].fileDescriptor else { throw DBusError.attributeError(0x0e) }
    let socket = try PacketSocket(owning: descriptor, onPacket: { _ in }, onClose: {})
    way.peripheral.server.writeSockets[attribute] = socket
    return socket
  }

  // MARK: Calls of the program

  private func call(
    _ target: Target, _ member: String, _ arguments: [Value], returning signature: Signature
  ) async throws -> [Value] {
    let way = target.way
    let reply: [Value]
    do {
      reply = try await way.connection.call(
        target.attribute.owner, target.path, target.interface, member, arguments, returning: signature)
    } catch let error as DBusError {
      throw error.overTheAir(member)
    }
    guard way.device.link === way.link else { throw DBusError.notConnected }
    return reply
  }
}

/// Sends values without response to the program that provides a characteristic; the outcome is not reported.
struct Commands: Sendable {
  private let connection: Connection
  private let owner: String
  private let path: ObjectPath
  private let options: [String: Value]
  private let socket: PacketSocket?

  init(to attribute: Attribute, _ path: ObjectPath, _ way: Daemon.Way, _ socket: PacketSocket?) {
    connection = way.connection
    owner = attribute.owner
    self.path = path
    options = way.options.merging(["type": "command"]) { $1 }
    self.socket = socket
  }

  func send(_ value: [UInt8]) {
    // A full socket or a terminated program loses the value, as the radio would.
    if let socket {
      _ = try? socket.sendNow(value)
    } else {
      try? connection.callWithoutReply(
        owner, path, Names.characteristic, "WriteValue", [.bytes(value), .properties(options)])
    }
  }
}
