import BlueZ
import Testing

/// Two adapters with a session and an agent each, and a secret at one that only paired devices may read.
///
/// One bluetoothd has both ends. It asks the agent of the session that calls `Pair` about the central's side, and the
/// default agent, which is the one registered last, about the peripheral's. From 5.81 on, `pair()` would make the
/// central's agent the default one: it would get the questions of both ends, of which bluetoothd lets it have one at a
/// time. So the central's session takes bluetoothd for an older one, and both ends have the peripheral's capability.
struct PairingPair: Sendable {
  static let service: BluetoothUUID = "ec0d0101-ec0d-ec0d-ec0d-ec0d0101ec0d"
  static let secret: BluetoothUUID = "ec0d0102-ec0d-ec0d-ec0d-ec0d0102ec0d"
  static let value = Array("only for friends".utf8)

  let central: Adapter
  let peripheral: Adapter

  /// Runs a body with both ends, and has bluetoothd forget what came of it.
  static func with(
    central: PairingAgent, peripheral: PairingAgent, _ body: @escaping @Sendable (PairingPair) async throws -> Void
  ) async throws {
    let release = min(try await Radio.release(), BlueZRelease(5, 80))
    let pair = PairingPair(
      central: try await Radio.adapter(Radio.mac, as: release), peripheral: try await Radio.adapter(Radio.phone))
    let agents = [
      try await pair.central.session.register(central), try await pair.peripheral.session.register(peripheral),
    ]
    let secret = LocalCharacteristic(Self.secret, .encryptRead, read: { _ in Self.value })
    let application = try await pair.peripheral.offer([LocalService(Self.service, characteristics: [secret])])
    let result: Result<Void, any Error>
    do {
      try await body(pair)
      result = .success(())
    } catch {
      result = .failure(error)
    }
    try await pair.forget()
    for agent in agents { try await agent.unregister() }
    try await application.unregister()
    try result.get()
  }

  /// The peripheral as the central sees it, both strangers to each other, with a link.
  func connect() async throws -> Device {
    try await forget()
    return try await connectAgain()
  }

  /// The same with what both ends know of each other.
  func connectAgain() async throws -> Device {
    try await central.awaitEnd(ofConnectionTo: peripheral)
    let (device, advertisement) = try await find()
    try await device.connect()
    try await advertisement.stop()
    return device
  }

  /// The scan is over when this returns: bluetoothd would take it up again between pairing and the next scan, and
  /// needs five seconds for that.
  private func find() async throws -> (Device, Advertisement) {
    let sightings = try await central.discover(.init(services: [Self.service]))
    let advertisement = try await peripheral.advertise(.init(services: [Self.service]))
    let device = try await sightings.firstDevice("the peripheral's advertisement", within: .seconds(30))
    return (device, advertisement)
  }

  func readSecret(of device: Device) async throws -> [UInt8] {
    try await device.characteristic(Self.secret, in: Self.service).read()
  }

  /// Ends the bond at both ends, with the link.
  func forget() async throws {
    for device in central.devices + peripheral.devices {
      do {
        try await device.remove()
      } catch let error as BlueZError where error.code == .deviceNotFound || error.code == .staleHandle {
        // bluetoothd has forgotten it by itself, because there was no bond.
      }
    }
  }
}
