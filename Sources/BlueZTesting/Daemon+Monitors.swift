import BlueZ
import DBus

/// The interface `org.bluez.AdvertisementMonitorManager1`.
extension Daemon {
  func monitorManager(_ index: Int) -> ServedObject.Part {
    ServedObject.Part(
      name: Names.monitorManager, types: ["SupportedMonitorTypes": "as", "SupportedFeatures": "as"],
      values: ["SupportedMonitorTypes": .strings(["or_patterns"]), "SupportedFeatures": .strings([])],
      methods: [
        method("RegisterMonitor", [.init("application", "o")], of: index) { daemon, call in
          try await daemon.watch(for: try client(of: call), at: daemon.adapters[index])
          return []
        },
        method("UnregisterMonitor", [.init("application", "o")], of: index) { daemon, call in
          let monitors = daemon.adapters[index].clients.monitors.removeValue(forKey: try client(of: call))
          guard monitors != nil else { throw DBusError.doesNotExist }
          return []
        },
      ])
  }

  /// Reads the monitors of a program, and accepts or rejects each by a call, as bluetoothd does after its reply.
  private func watch(for client: VirtualAdapter.Client, at adapter: VirtualAdapter) async throws {
    guard adapter.clients.monitors[client] == nil else { throw DBusError.alreadyExists }
    let addressee = addressee(adapter.index)
    let objects = try await RemoteObject(try living(), client.name, client.path).managedObjects()
    try expect(addressee)
    try expect(client.name)
    adapter.clients.monitors[client] = []
    for (path, interfaces) in objects.sorted(by: { $0.key < $1.key }) {
      guard let properties = interfaces[Names.monitor] else { continue }
      let monitor = VirtualMonitor(client: client.name, path: path, properties)
      try connection?.callWithoutReply(client.name, path, Names.monitor, monitor == nil ? "Release" : "Activate")
      if let monitor { adapter.clients.monitors[client]?.append(monitor) }
    }
    lookAround(adapter)
  }

  /// Reports an advertisement to the monitors of an adapter that it matches, whether the adapter scans or not.
  func watch(_ air: AirAdvertisement, from address: BluetoothAddress, rssi: Int16, at adapter: VirtualAdapter) {
    guard adapter.isPowered else { return }
    let elements = air.elements(forMonitorsOf: configuration.version)
    for (client, monitors) in adapter.clients.monitors {
      for (number, monitor) in monitors.enumerated() where monitor.matches(elements) {
        guard let device = adapter.devices[address] ?? addDevice(address, air.properties(rssi: rssi), at: adapter)
        else {
          continue
        }
        if rssi >= monitor.high ?? .min {
          adapter.clients.monitors[client]?[number].found.insert(address)
          tell(monitor, "DeviceFound", device)
        } else if let low = monitor.low, rssi < low {
          lose(address, client, number, at: adapter)
        }
      }
    }
  }

  /// Reports that a device is out of range to the monitors that have found it.
  func lose(_ address: BluetoothAddress, at adapter: VirtualAdapter) {
    for (client, monitors) in adapter.clients.monitors {
      for (number, monitor) in monitors.enumerated() where monitor.low != nil {
        lose(address, client, number, at: adapter)
      }
    }
  }

  private func lose(
    _ address: BluetoothAddress, _ client: VirtualAdapter.Client, _ number: Int, at adapter: VirtualAdapter
  ) {
    guard let monitor = adapter.clients.monitors[client]?[number], let device = adapter.devices[address],
      adapter.clients.monitors[client]?[number].found.remove(address) != nil
    else { return }
    tell(monitor, "DeviceLost", device)
  }

  private func tell(_ monitor: VirtualMonitor, _ member: String, _ device: VirtualDevice) {
    do {
      try connection?.callWithoutReply(
        monitor.client, monitor.path, Names.monitor, member, [.objectPath(device.object.path)])
    } catch {
      logger.debug("\(member) not sent", metadata: ["error": "\(error)"])
    }
  }
}

/// A monitor of a program.
struct VirtualMonitor {
  /// Bytes at a position of an element.
  struct Pattern {
    let start: Int
    let type: UInt8
    let bytes: [UInt8]
  }

  let client: String
  let path: ObjectPath
  let patterns: [Pattern]
  /// The thresholds in dBm; `nil` reports every advertisement, and no loss.
  let high: Int16?
  let low: Int16?
  /// The devices that were found and not lost since.
  var found: Set<BluetoothAddress> = []

  /// - Returns: `nil` for a monitor that bluetoothd would reject.
  init?(client: String, path: ObjectPath, _ properties: [String: Value]) {
    guard properties["Type"]?.string == "or_patterns", case .array(_, let all) = properties["Patterns"]?.unwrapped
    else { return nil }
    let patterns = all.compactMap { value -> Pattern? in
      guard case .structure(let fields) = value, fields.count == 3, let start = fields[0].integer(as: Int.self),
        let type = fields[1].integer(as: UInt8.self), let bytes = fields[2].bytes
      else { return nil }
      return Pattern(start: start, type: type, bytes: bytes)
    }
    guard !patterns.isEmpty else { return nil }
    self.client = client
    self.path = path
    self.patterns = patterns
    high = properties["RSSIHighThreshold"]?.integer()
    low = properties["RSSILowThreshold"]?.integer()
  }

  func matches(_ elements: [(type: UInt8, content: [UInt8])]) -> Bool {
    patterns.contains { pattern in
      elements.contains { element in
        element.type == pattern.type && element.content.dropFirst(pattern.start).starts(with: pattern.bytes)
      }
    }
  }
}

extension AirAdvertisement {
  /// Returns the elements that bluetoothd of a release compares with the patterns of monitors. From 5.69 on it takes
  /// services and names out before.
  func elements(forMonitorsOf version: BlueZRelease) -> [(type: UInt8, content: [UInt8])] {
    var all: [(type: UInt8, content: [UInt8])] = []
    for entry in manufacturerData?.entries ?? [] {
      guard let company = entry.key.unwrapped.integer(as: UInt16.self), let data = entry.value.unwrapped.bytes else {
        continue
      }
      all.append((0xff, [UInt8(company & 0xff), UInt8(company >> 8)] + data))
    }
    guard version < BlueZRelease(5, 69) else { return all }
    if let name { all.append((0x09, Array(name.utf8))) }
    let short = services.compactMap { BluetoothUUID($0)?.short }
    if !short.isEmpty {
      all.append((0x03, short.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }))
    }
    return all
  }
}
