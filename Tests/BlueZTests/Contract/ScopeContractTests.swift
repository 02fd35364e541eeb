import BlueZ
import BlueZTesting
import Streams
import Testing

/// Tests of what a program writes without keeping handles.
extension ContractTests {
  /// Starts a fake in which a peripheral is open; returns its central.
  private func withPeripheral(
    _ body: (FakeBlueZ, _ central: Adapter, Parlour) async throws -> Void
  ) async throws {
    let lab = try await FakeBlueZ.start()
    let parlour = Parlour()
    let opened = try await parlour.open(on: try await lab.adapter(0))
    try await body(lab, try await lab.adapter(1), parlour)
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("A body that runs while connected goes on after every loss of the link")
  func whileConnected() async throws {
    try await withPeripheral { lab, central, parlour in
      let options = ConnectOptions.keepConnected(backoff: .milliseconds(10), longestDelay: .milliseconds(50))
      let connection = try await central.connect(to: .init(services: [Parlour.service]), options)
      let (heard, source) = BoundedStream.make(of: UInt8.self, limit: 16)
      let work = Task {
        try await connection.whileConnected { device in
          let bell = try device.characteristic(Parlour.bell, in: Parlour.service)
          for try await value in try await bell.notifications() { source.yield(value[0]) }
        }
      }
      var values = heard.makeAsyncIterator()
      for number: UInt8 in 1...3 {
        while !parlour.bell.isSubscribed { try await Task.sleep(for: .milliseconds(2)) }
        try await parlour.bell.notify([number])
        #expect(await values.next() == number)
        // In the middle of the body, and once while it still prepares.
        await lab.adapters[1].loseConnections()
        await settled { !parlour.bell.isSubscribed }
      }
      await connection.end()
      try await work.value
      #expect(await lab.adapters[1].holdings().links == 0)
    }
  }

  @Test("A body that fails because the link is lost starts again, and any other error leaves")
  func errorsOfBodies() async throws {
    try await withPeripheral { lab, central, _ in
      let options = ConnectOptions.keepConnected(backoff: .milliseconds(10), longestDelay: .milliseconds(50))
      let connection = try await central.connect(to: .init(services: [Parlour.service]), options)
      let rounds = Lock(0)
      let error = await #expect(throws: BlueZError.self) {
        try await connection.whileConnected { device in
          let round = rounds.withLock { rounds in
            rounds += 1
            return rounds
          }
          if round < 3 { await lab.adapters[1].loseConnections() }
          _ = try await device.characteristic(Parlour.box, in: Parlour.service).read()
          _ = try device.characteristic("2a19", in: Parlour.service)
        }
      }
      #expect(error?.code == .notSupported)
      #expect(rounds.withLock { $0 } == 3)
    }
  }

  @Test("A link lasts as long as its scope, also when that throws or is cancelled")
  func scopedConnections() async throws {
    try await withPeripheral { lab, central, _ in
      let filter = Adapter.DiscoveryFilter(services: [Parlour.service])
      let length = try await central.withConnection(to: filter) { device in
        #expect(await lab.adapters[1].holdings().links == 1)
        return try await device.characteristic(Parlour.box, in: Parlour.service).read().count
      }
      #expect(length == 18)
      #expect(await lab.adapters[1].holdings().links == 0)
      let device = try await central.find(filter)
      await #expect(throws: CancellationError.self) {
        try await device.withConnection { _ in throw CancellationError() }
      }
      #expect(await lab.adapters[1].holdings().links == 0)
      let work = Task {
        try await central.withConnection(to: try #require(device.address)) { _ in
          try await Task.sleep(for: .seconds(60))
        }
      }
      await settled { await lab.adapters[1].holdings().links == 1 }
      work.cancel()
      await #expect(throws: CancellationError.self) { try await work.value }
      await settled { await lab.adapters[1].holdings().links == 0 }
    }
  }

  @Test("An advertisement lasts as long as its scope, also when that throws")
  func scopedAdvertisements() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let count = try await phone.withAdvertisement(.init(name: "Lamp")) { _ in
      await lab.adapters[0].holdings().advertisements
    }
    #expect(count == 1)
    #expect(await lab.adapters[0].holdings().advertisements == 0)
    await #expect(throws: CancellationError.self) {
      try await phone.withAdvertisement(.init(name: "Lamp")) { _ in throw CancellationError() }
    }
    #expect(await lab.adapters[0].holdings().advertisements == 0)
    try await lab.stop()
  }

  @Test("Services last as long as their scope, also when that throws")
  func scopedServices() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let battery = LocalService("180f", characteristics: [LocalCharacteristic("2a19", .read, read: { _ in [100] })])
    let count = try await phone.withServices([battery]) { _ in await lab.adapters[0].holdings().applications }
    #expect(count == 1)
    #expect(await lab.adapters[0].holdings().applications == 0)
    await #expect(throws: CancellationError.self) {
      try await phone.withServices([battery]) { _ in throw CancellationError() }
    }
    #expect(await lab.adapters[0].holdings().applications == 0)
    try await lab.stop()
  }

  @Test("A scan for a service finds nobody else, whatever another program scans for")
  func scansOfOthers() async throws {
    try await withPeripheral { lab, central, _ in
      // A device whose services were read, without the one that is sought.
      let device = try await firstSeen(by: central)
      try await device.connect()
      try await device.disconnect()
      let all = try await lab.adapter(1).discover(.init(duplicates: true))
      let seen = try #require(device.address)
      // The device advertises also while the second scan still begins.
      lab.adapters[1].inject(.slowReplies(.milliseconds(20)))
      let advertising = lab.adapters[1].receiving([Parlour.service], from: seen)
      let sought = try await central.discover(.init(services: ["180d"], duplicates: true))
      lab.adapters[1].repair()
      // A scan that is not alone pauses for a moment, to find out whether it still is not.
      await settled { await lab.adapters[1].holdings().scans == 2 }
      let address = try #require(BluetoothAddress("C0:00:00:00:00:02"))
      for rssi: Int16 in [-60, -40] {
        await lab.adapters[1].receiveAdvertisement(of: seen, services: [Parlour.service], rssi: rssi)
      }
      advertising.cancel()
      await lab.adapters[1].receiveAdvertisement(of: address, services: ["180d"])
      for await sighting in sought {
        #expect(sighting.device.address == address)
        break
      }
      #expect(sought.received == 1)
      withExtendedLifetime(all) {}
    }
  }

  @Test("A scan that began beside another one finds a device by what it advertises when the other one has ended")
  func endOfAnotherScan() async throws {
    try await withPeripheral { lab, central, _ in
      // A device whose services were read, without the one that is sought.
      let device = try await firstSeen(by: central)
      try await device.connect()
      try await device.disconnect()
      let address = try #require(device.address)
      let other = try await lab.adapter(1)
      _ = try await other.discover()
      let sought = try await central.discover(.init(services: ["180d"]))
      other.session.close()
      let advertising = lab.adapters[1].receiving(["180d"], from: address)
      defer { advertising.cancel() }
      for await sighting in sought {
        #expect(sighting.device.address == address)
        break
      }
    }
  }

  @Test("A device is found by a service that it advertises, though bluetoothd lists none of it") func unlistedServices()
    async throws
  {
    try await withPeripheral { lab, central, _ in
      let address = try #require(BluetoothAddress("C0:00:00:00:00:03"))
      let other = try await lab.adapter(1)
      _ = try await other.discover()
      await lab.adapters[1].receiveAdvertisement(of: address, services: [])
      lab.adapters[1].inject(.advertisedServicesAreIgnored)
      other.session.close()
      let sought = try await central.discover(.init(services: ["180d"]))
      let advertising = lab.adapters[1].receiving(["180d"], from: address)
      defer { advertising.cancel() }
      for await sighting in sought {
        #expect(sighting.device.address == address)
        break
      }
    }
  }

  @Test("A linked device is found by a service that it advertises, and that is no GATT service") func scanForAChannel()
    async throws
  {
    try await withPeripheral { lab, central, _ in
      let device = try await firstSeen(by: central)
      try await device.connect()
      let address = try #require(device.address)
      let sought = try await central.discover(.init(services: ["180d"]))
      await lab.adapters[1].receiveAdvertisement(of: address, services: ["180d"], rssi: -40)
      for await sighting in sought {
        #expect(sighting.device.address == address)
        break
      }
    }
  }
}

extension FakeAdapter {
  /// Receives the advertisements of a device, with another strength each time, until the task is cancelled.
  fileprivate func receiving(_ services: [BluetoothUUID], from device: BluetoothAddress) -> Task<Void, any Error> {
    Task {
      // The sleep ends it: a condition would be asked again for ever, without leaving the thread to anybody.
      for number in 0... {
        await receiveAdvertisement(of: device, services: services, rssi: number.isMultiple(of: 2) ? -60 : -40)
        try await Task.sleep(for: .milliseconds(1))
      }
    }
  }
}
