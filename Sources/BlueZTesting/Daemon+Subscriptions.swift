import BlueZ
import DBus
import Streams

/// Subscribing, and the sockets that centrals get.
extension Daemon {
  nonisolated func characteristicMethods(_ attribute: Attribute, at place: Place) -> [Interface.Method] {
    let options = Interface.Argument("options", "a{sv}")
    let output = [Interface.Argument("fd", "h"), .init("mtu", "q")]
    return [
      method("StartNotify", of: place.adapter) { daemon, call in
        let (way, mirror) = try daemon.subscription(to: attribute, at: place)
        let client = call.sender ?? ""
        guard mirror.addClient(client) else { throw DBusError.inProgress }
        do {
          try await daemon.subscribe(mirror, way)
        } catch {
          mirror.removeClient(client)
          throw error
        }
        return []
      },
      method("StopNotify", of: place.adapter) { daemon, call in
        let way = try daemon.way(to: place)
        guard let mirror = way.device.characteristic(attribute.handle), mirror.removeClient(call.sender ?? "") else {
          throw DBusError.bluez("Failed", "No notify session started")
        }
        daemon.unsubscribeIfUnused(mirror, way)
        return []
      },
      method("AcquireNotify", [options], out: output, of: place.adapter) { daemon, _ in
        try await daemon.acquireNotify(attribute, at: place)
      },
      method("AcquireWrite", [options], out: output, of: place.adapter) { daemon, _ in
        try await daemon.acquireWrite(attribute, at: place)
      },
    ]
  }

  private func subscription(to attribute: Attribute, at place: Place) throws -> (Way, MirroredCharacteristic) {
    let way = try way(to: place)
    guard let mirror = way.device.characteristic(attribute.handle), attribute.sendsValues else {
      throw DBusError.notSupported
    }
    guard !mirror.hasNotifySocket else { throw DBusError.bluez("NotPermitted", "Notify acquired") }
    return (way, mirror)
  }

  private func acquireNotify(_ attribute: Attribute, at place: Place) async throws -> [Value] {
    let (way, mirror) = try subscription(to: attribute, at: place)
    guard attribute.allows("notify") || configuration.version.givesSocketForIndications else {
      throw DBusError.notSupported
    }
    let (ours, theirs) = try PacketSocket.pair()
    let socket = try PacketSocket(
      owning: ours, onPacket: { _ in },
      onClose: { [weak self, weak mirror] in
        Task { [weak self, weak mirror] in
          guard let self, let mirror else { return }
          await self.notifySocketClosed(mirror, ours, at: place)
        }
      })
    mirror.acquire(notify: .init(socket: socket, end: ours))
    do {
      try await subscribe(mirror, way)
    } catch {
      mirror.releaseNotify()
      throw error
    }
    return [.fileDescriptor(theirs), .uint16(way.link.mtu)]
  }

  private func notifySocketClosed(_ mirror: MirroredCharacteristic, _ end: FileDescriptor, at place: Place) {
    mirror.releaseNotify(end)
    // Without a connection there is no subscription to end.
    if let way = try? way(to: place) { unsubscribeIfUnused(mirror, way) }
  }

  private func subscribe(_ mirror: MirroredCharacteristic, _ way: Way) async throws {
    let attribute = mirror.attribute
    guard let path = attribute.path else { throw DBusError.notSupported }
    try await encrypt(way, to: [attribute.required("notify"), attribute.required("indicate")].compactMap(\.self).max())
    let notifier =
      way.peripheral.server.notifiers[attribute]
      ?? Notifier(attribute, path, configuration.version, way.connection)
    way.peripheral.server.notifiers[attribute] = notifier
    let central = way.asked
    let indicates = !attribute.allows("notify")
    do {
      try await notifier.add(central, mtu: way.link.mtu) { [weak notifier] value in
        mirror.receive(value)
        if indicates { notifier?.confirmed(by: central) }
      }
    } catch let error as DBusError {
      throw error.overTheAir("StartNotify")
    }
    guard way.device.link === way.link else { throw DBusError.notConnected }
  }

  private func unsubscribeIfUnused(_ mirror: MirroredCharacteristic, _ way: Way) {
    guard !mirror.isNotifying, way.peripheral.server.notifiers[mirror.attribute]?.remove(way.asked) == true else {
      return
    }
    way.peripheral.server.notifiers[mirror.attribute] = nil
  }

  private func acquireWrite(_ attribute: Attribute, at place: Place) async throws -> [Value] {
    let way = try way(to: place)
    guard attribute.allows("write-without-response"), let path = attribute.path,
      let mirror = way.device.characteristic(attribute.handle)
    else { throw DBusError.notSupported }
    guard !mirror.hasWriteSocket else { throw DBusError.bluez("NotPermitted", "Write acquired") }
    let commands = Commands(to: attribute, path, way, try await programsWriteSocket(attribute, path, way))
    let (ours, theirs) = try PacketSocket.pair()
    let socket = try PacketSocket(
      owning: ours, onPacket: commands.send, onClose: { [weak mirror] in mirror?.releaseWrite(ours) })
    mirror.acquire(write: .init(socket: socket, end: ours))
    return [.fileDescriptor(theirs), .uint16(way.link.mtu)]
  }
}

/// What an answer of a program becomes on its way over the air.
extension DBusError {
  /// An ATT error as the central's bluetoothd reports it (Core Specification 3.F.3.4.1.1).
  static func attributeError(_ code: Int) -> DBusError {
    let digits = String(code, radix: 16)
    return bluez("Failed", "Operation failed with ATT error: 0x" + (digits.count < 2 ? "0" : "") + digits)
  }

  /// A program's refusal as the central gets it.
  /// - Parameter member: what the program was asked.
  func overTheAir(_ member: String) -> DBusError {
    if let code = replayedCode { return .answered(code) }
    return switch name {
    case "org.bluez.Error.NotPermitted":
      .bluez("NotPermitted", member == "ReadValue" ? "Read not permitted" : "Write not permitted")
    case "org.bluez.Error.NotAuthorized": .bluez("NotAuthorized", "Operation Not Authorized")
    case "org.bluez.Error.InvalidValueLength": .bluez("InvalidArguments", "Invalid Length")
    case "org.bluez.Error.InvalidOffset": .bluez("InvalidArguments", "Invalid offset")
    case "org.bluez.Error.NotSupported": .notSupported
    // 0xfe is "procedure already in progress", 0x0e "unlikely error".
    case "org.bluez.Error.InProgress": .attributeError(0xfe)
    default: .attributeError(0x0e)
    }
  }
}
