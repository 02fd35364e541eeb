import BlueZ

/// Connections, and the kernel's management interface.
extension Daemon {
  /// The connections of an adapter, as programs read them without asking bluetoothd.
  func noteConnections(of adapter: VirtualAdapter) {
    let connections = adapter.devices.values.compactMap { device in
      device.link.map { link in
        ConnectionInfo(
          address: shownAddress(of: device.address, at: adapter).address, isEncrypted: link.key != nil,
          isCentral: link.central == adapter.index)
      }
    }
    kernel.note(connections.sorted { $0.address.description < $1.address.description }, of: adapter.number)
  }

  /// Answers a command of the management interface.
  func answer(_ command: ManagementPacket) -> [ManagementPacket] {
    let code = command.code
    guard code != ManagementCommand.readCommands.rawValue || command.index != 0xffff else {
      return [Self.event(of: command, VirtualController.commands(isPrivileged: configuration.hasNetAdmin))]
    }
    guard let adapter = adapters.first(where: { $0.number == command.index && $0.replay == nil && $0.isPluggedIn })
    else {
      return [Self.event(of: command, .init(status: .invalidIndex))]
    }
    let answer = adapter.kernel.controller.handle(code, command.parameters, facts(of: adapter))
    return [Self.event(of: command, answer)]
  }

  /// The event Command Complete; a refusal that has no parameters is Command Status.
  private static func event(of command: ManagementPacket, _ answer: VirtualController.Answer) -> ManagementPacket {
    let head = [UInt8(truncatingIfNeeded: command.code), UInt8(command.code >> 8), answer.status.rawValue]
    let isComplete = answer.status == .success || !answer.parameters.isEmpty
    return ManagementPacket(isComplete ? 1 : 2, command.index, head + answer.parameters)
  }

  private func facts(of adapter: VirtualAdapter) -> VirtualController.Facts {
    let usual = LinkReading(rssi: Int(configuration.rssi), transmitPower: 0, maximumTransmitPower: 8)
    let links = adapter.devices.values.filter { $0.link != nil }.map { device in
      (managementAddress(of: device.address, at: adapter), adapter.kernel.readings[device.address] ?? usual)
    }
    return VirtualController.Facts(
      address: adapter.address.littleEndian, isPowered: adapter.isPowered,
      isPairable: adapter.object?[Names.adapter, "Pairable"]?.bool == true, isAdvertising: adapter.air != nil,
      isPrivileged: configuration.hasNetAdmin, links: Dictionary(links, uniquingKeysWith: { $1 }))
  }

  /// The address of a device with its kind: LE public is 1, LE random is 2.
  private func managementAddress(of address: BluetoothAddress, at adapter: VirtualAdapter) -> [UInt8] {
    let shown = shownAddress(of: address, at: adapter)
    return shown.address.littleEndian + [shown.type == "random" ? 2 : 1]
  }

  func setReading(_ reading: LinkReading, of peer: BluetoothAddress, at index: Int) {
    adapters[index].kernel.readings[peer] = reading
  }

  /// Has an adapter ask the central of a link for connection parameters, which the central's kernel puts in force.
  func request(_ parameters: ConnectionParameters, of peer: BluetoothAddress, at index: Int) throws {
    let adapter = adapters[index]
    let doing = "asking \(peer) for connection parameters"
    guard let device = adapter.devices[peer], let central = self.peer(of: device), device.link?.central == central.index
    else { throw BlueZError(.notConnected, "\(doing): it is not the central of a link to \(adapter.name)") }
    let fields = try parameters.fields(doing)
    // New Connection Parameter, with the hint to store them.
    let event = ManagementPacket(
      0x001c, central.number,
      managementAddress(of: adapter.address, at: central) + [1] + fields.flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] })
    // The kernel sends it to nobody else.
    if configuration.hasNetAdmin { kernel.management.send(event.bytes) }
  }

  /// Returns the connection parameters that a program has set for a device.
  func preferredParameters(of peer: BluetoothAddress, at index: Int) -> ConnectionParameters? {
    let adapter = adapters[index]
    guard let bytes = adapter.kernel.controller.preferences[managementAddress(of: peer, at: adapter)] else {
      return nil
    }
    let fields = stride(from: 0, to: bytes.count, by: 2).map { UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8 }
    return ConnectionParameters(least: fields[0], most: fields[1], latency: fields[2], timeout: fields[3])
  }
}
