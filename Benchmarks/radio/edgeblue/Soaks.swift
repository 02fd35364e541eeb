import BlueZ
import EdgeCoder

/// What runs for long while something is done to it, and must not grow.
extension Main {
  /// Declares one of each kind: power of both adapters, services, an advertisement, an agent, a scan, and a monitor where
  /// bluetoothd has them.
  static func survive(on adapter: Adapter, and name: String) async throws {
    let session = adapter.session
    let other = try await session.adapter(name)
    for each in [adapter, other] { try await each.setPowered(true) }
    let service = try uuid(EdgeCoderUUIDs.service)
    let value = LocalCharacteristic(try uuid(EdgeCoderUUIDs.status), .read, read: { _ in Array("here".utf8) })
    let application = try await adapter.offer([LocalService(service, characteristics: [value])])
    let advertisement = try await adapter.advertise(.init(services: [service]))
    let agent = try await session.register(PairingAgent())
    let sightings = try await other.discover(.init(services: [service]))
    let monitor = try await monitor(on: other, of: service)
    let reader = Task { for await _ in sightings {} }
    let events = session.events()
    say("ready")
    for await event in events where event == .restored { say("restored") }
    reader.cancel()
    withExtendedLifetime((application, advertisement, agent, monitor)) {}
  }

  private static func monitor(on adapter: Adapter, of service: BluetoothUUID) async throws -> AdvertisementMonitor? {
    do {
      return try await adapter.monitor(.init(patterns: AdvertisementPattern.firstService(service)))
    } catch let error as BlueZError where error.code == .notSupported {
      return nil
    }
  }

  static func link(on adapter: Adapter, _ address: String, _ count: Int) async throws {
    guard let device = BluetoothAddress(address).flatMap(adapter.device) else {
      throw Failure(what: "\(address) is not known")
    }
    if device.isConnected { try await device.disconnect() }
    say("ready")
    _ = readLine()
    let service = try uuid(EdgeCoderUUIDs.service)
    for number in 1...count {
      try await device.connect()
      let values = try await device.characteristic(try uuid(EdgeCoderUUIDs.response), in: service).notifications()
      let writer = try await device.characteristic(try uuid(EdgeCoderUUIDs.request), in: service).writer()
      var arrived = values.makeAsyncIterator()
      try await trip(number, writer, &arrived)
      try await device.disconnect()
      say("\(number)")
    }
    _ = readLine()
  }
}
