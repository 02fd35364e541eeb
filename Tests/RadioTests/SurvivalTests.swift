import BlueZ
import Foundation
import Testing

/// What must be there after bluetoothd was killed, and what must not be left behind. `Benchmarks/radio/run` does the same
/// a hundred and a thousand times.
extension RadioTests {
  @Suite("Restarts and lost connections") struct Survival {
    private static let service: BluetoothUUID = "ec0d0201-ec0d-ec0d-ec0d-ec0d0201ec0d"
    private static let value: BluetoothUUID = "ec0d0202-ec0d-ec0d-ec0d-ec0d0202ec0d"

    @Test(
      "Restarts of bluetoothd and reconnections restore everything and leak nothing",
      .enabled(if: Radio.isLab, Radio.labNeeded),
      .timeLimit(.minutes(5)))
    func restartsAndLinksLeaveEverythingInPlaceAndNothingBehind() async throws {
      let session = try await Session.open()
      let phone = try await session.adapter(Radio.phone)
      let mac = try await session.adapter(Radio.mac)
      for adapter in [phone, mac] { try await adapter.setPowered(true) }
      let value = LocalCharacteristic(Self.value, .read, read: { _ in [42] })
      let application = try await phone.offer([LocalService(Self.service, characteristics: [value])])
      let agent = try await session.register(PairingAgent())
      let sightings = try await mac.discover(.init(services: [Self.service]))
      let monitor = try await mac.monitor(.init(patterns: [.manufacturerData(0xffff, beginsWith: [2])]))
      let content = Advertisement.Content(services: [Self.service], manufacturerData: [0xffff: [2]])
      let advertisement = try await phone.advertise(content)
      let before = try await sightings.firstDevice("the advertisement", within: .seconds(30))

      var descriptors = 0
      for round in 0..<4 {
        let took = try await restart(session, withBus: round == 3)
        print("restart \(round): everything in place again \(took) after bluetoothd")
        #expect(phone.property("UUIDs")?.strings?.contains(Self.service.description) == true)
        #expect(mac.isDiscovering)
        try await finds(phone, monitor)
        #expect(before.isConnected == false)
        let error = await #expect(throws: BlueZError.self) { try await before.connect() }
        #expect(error?.code == .staleHandle)
        // The first restart opens what stays open. What earlier tests left may close meanwhile.
        if round == 0 { descriptors = try Self.openDescriptors() }
      }
      let afterRestarts = try Self.openDescriptors()
      #expect(afterRestarts <= descriptors)

      // By address; the device is not there yet.
      try await advertisement.stop()
      try await monitor.stop()
      async let found = mac.connect(to: phone.address, .direct(timeout: .seconds(60)))
      let again = try await phone.advertise(.init(services: [Self.service]))
      try await linkThreeTimes(to: try await found.device(), from: mac, phone)
      let afterLinks = try Self.openDescriptors()
      #expect(afterLinks <= descriptors)
      withExtendedLifetime((application, again, agent)) {}
    }

    @Test("A linked device is forgotten, also when its peer ends the link meanwhile", .timeLimit(.minutes(5)))
    func linkedDevicesAreForgotten() async throws {
      let session = try await Session.open()
      let phone = try await session.adapter(Radio.phone)
      let mac = try await session.adapter(Radio.mac)
      for adapter in [phone, mac] { try await adapter.setPowered(true) }
      let value = LocalCharacteristic(Self.value, .read, read: { _ in [42] })
      let application = try await phone.offer([LocalService(Self.service, characteristics: [value])])
      let advertisement = try await phone.advertise(.init(services: [Self.service]))
      for round in 0..<4 {
        let connection = try await mac.connect(to: phone.address, .direct(timeout: .seconds(30)))
        let device = try await connection.device()
        #expect(try await device.characteristic(Self.value, in: Self.service).read() == [42])
        let peer = try #require(phone.connectedPeers.first.flatMap { phone.device($0) })
        async let theirs: Void = round.isMultiple(of: 2) ? () : peer.disconnect()
        try await device.remove()
        try await theirs
        #expect(mac.device(phone.address)?.isConnected != true, "round \(round)")
        let error = await #expect(throws: BlueZError.self) { try await device.connect() }
        #expect(error?.code == .staleHandle)
        try await mac.awaitEnd(ofConnectionTo: phone)
      }
      withExtendedLifetime((application, advertisement)) {}
    }

    /// Restarts bluetoothd, by `kill -9` or with the bus, and waits until everything declared is in place again.
    /// - Returns: The time from bluetoothd's return.
    private func restart(_ session: Session, withBus: Bool) async throws -> Duration {
      let events = session.events()
      if withBus {
        try await Radio.fault("bus", "restart")
      } else {
        try await Radio.fault("bluetoothd", "kill")
        try await Radio.fault("bluetoothd", "start")
      }
      return try await bounded(.seconds(30), "everything in place again") {
        var began: ContinuousClock.Instant?
        for await event in events {
          if event == .serviceUp { began = .now }
          if event == .restored, let began { return .now - began }
        }
        throw TestTimeout(phase: "the session ended")
      }
    }

    private func linkThreeTimes(to device: Device, from mac: Adapter, _ phone: Adapter) async throws {
      for cycle in 0..<3 {
        _ = try await device.connect(.direct(), requiring: [Self.service: [Self.value]])
        let got = try await device.characteristic(Self.value, in: Self.service).read()
        #expect(got == [42], "cycle \(cycle)")
        try await device.disconnect()
        try await mac.awaitEnd(ofConnectionTo: phone)
      }
    }

    private func finds(_ phone: Adapter, _ monitor: AdvertisementMonitor) async throws {
      try await bounded(.seconds(30), "the monitor to find again") {
        // What it found before has handles that are stale.
        for await event in monitor.events {
          if case .found(let device) = event, device.address == phone.address { return }
        }
        throw TestTimeout(phase: "the monitor ended")
      }
    }

    private static func openDescriptors() throws -> Int {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }
  }
}
