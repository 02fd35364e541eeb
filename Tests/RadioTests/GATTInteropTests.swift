import BlueZ
import Streams
import Testing

/// GATT with a stack nobody here wrote: Bumble.
extension RadioTests {
  @Suite("GATT with other stacks", .enabled(if: Radio.isLab && Radio.python != nil, Radio.peersNeeded))
  struct GATTInteroperability {
    static let service = uuid(1)

    static func uuid(_ number: Int) -> BluetoothUUID {
      let digits = (number < 16 ? "0" : "") + String(number, radix: 16)
      return BluetoothUUID(stringLiteral: "ec0d02\(digits)-ec0d-ec0d-ec0d-ec0d02\(digits)ec0d")
    }

    static func text(_ bytes: [UInt8]?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

    /// One peer for everything: it takes Python seconds to start in the lab.
    @Test("A Bumble server: every GATT client operation", .timeLimit(.minutes(5)))
    func aBumbleServer() async throws {
      let peer = try LabPeer("gatt_peer.py", ["--timeout", "290"])
      defer { peer.terminate() }
      let adapter = try await peer.adapter()
      _ = try await peer.next("advertising")
      let device = try await adapter.discover(.init(services: [Self.service])).firstDevice("the peer's advertisement")
      #expect(device.mtu == nil)
      #expect(device.longestValue == 20)
      var mtus = device.mtus().makeAsyncIterator()
      try await device.connect()
      #expect(await mtus.next() == 247)

      try await everythingIsFound(device)
      try await valuesAreReadAndWritten(device, peer)
      try await writesWithoutResponse(device, peer)
      try await valuesArrive(device, peer)

      // Another link, another MTU; bluetoothd remembers the services and does not say.
      try await device.disconnect()
      #expect(device.mtu == nil)
      try await device.connect()
      #expect(await mtus.next() == 185)
      #expect(device.longestValue == 182)
      try await device.disconnect()
    }

    private func everythingIsFound(_ device: Device) async throws {
      let service = try #require(device.services.first { $0.uuid == Self.service })
      #expect(service.isPrimary)
      let battery = try #require(service.includedServices.first)
      #expect(battery.uuid == "180f")
      #expect(!battery.isPrimary)
      #expect(try await device.characteristic("2a19", in: "180f").read() == [87])
      // bluetoothd reads the Battery Service, too.
      #expect(device.batteryLevel == 87)

      let twins = try device.characteristics(Self.uuid(2), in: Self.service)
      var found: [String] = []
      for twin in twins {
        found.append(Self.text(try await twin.read()) ?? "")
        found.append(Self.text(try await twin.descriptor("2901").read()) ?? "")
      }
      #expect(found == ["first", "one", "second", "two"])
      let handles = twins.compactMap(\.handle)
      #expect(handles.count == 2)
      #expect(handles[0] < handles[1])

      let stored = try device.characteristic(Self.uuid(3), in: Self.service)
      #expect(stored.flags == [.read, .write, .reliableWrite, .extendedProperties])
      #expect(Set(stored.descriptors.map(\.uuid)) == ["2900", Self.uuid(0x13)])
      let error = await #expect(throws: BlueZError.self) {
        try await device.characteristic(Self.uuid(7), in: Self.service).read()
      }
      #expect(error?.code == .attributeError)
    }

    private func valuesAreReadAndWritten(_ device: Device, _ peer: LabPeer) async throws {
      let stored = try device.characteristic(Self.uuid(3), in: Self.service)
      let note = try stored.descriptor(Self.uuid(0x13))
      for (size, type) in [(20, RemoteCharacteristic.WriteType.withResponse), (512, .withResponse), (400, .reliable)] {
        let value = Pattern.bytes(0..<size)
        try await stored.write(value, type)
        #expect(try await peer.next("written")["size"] as? Int == size)
        #expect(try await stored.read() == value)
      }
      #expect(try await stored.read(offset: 390) == Pattern.bytes(390..<400))
      try await note.write(Pattern.bytes(0..<300))
      #expect(try await note.read() == Pattern.bytes(0..<300))
      // A write that begins in the middle is a long one; Bumble takes none that does not begin at 0.
      let gap = await #expect(throws: BlueZError.self) { try await stored.write([1, 2, 3], offset: 5) }
      #expect(gap?.code == .invalidArgument)
      let beyond = await #expect(throws: BlueZError.self) { _ = try await stored.write([1], offset: 512) }
      #expect(beyond?.code == .invalidArgument)
    }

    private func writesWithoutResponse(_ device: Device, _ peer: LabPeer) async throws {
      let commands = try device.characteristic(Self.uuid(6), in: Self.service)
      try await commands.write([1, 2], .withoutResponse)
      #expect(try await bounded(.seconds(20), "the write") { try await self.written(6, peer) } == 2)
      let long = await #expect(throws: BlueZError.self) {
        try await commands.write(Pattern.bytes(0..<245), .withoutResponse)
      }
      #expect(long?.code == .invalidArgument)
      let unreliable = await #expect(throws: BlueZError.self) { try await commands.write([1], .reliable) }
      #expect(unreliable?.code == .notSupported)
      let writer = try await commands.writer()
      #expect(writer.longestValue == 244)
      let held = await #expect(throws: BlueZError.self) { try await commands.write([1], .withoutResponse) }
      #expect(held?.code == .inProgress)
      try await writer.write(Pattern.bytes(0..<244))
      #expect(try await written(6, peer) == 244)
      writer.close()
    }

    private func written(_ number: Int, _ peer: LabPeer) async throws -> Int? {
      while true {
        let event = try await peer.next("written")
        if event["number"] as? Int == number { return event["size"] as? Int }
      }
    }

    private func valuesArrive(_ device: Device, _ peer: LabPeer) async throws {
      let notifying = try device.characteristic(Self.uuid(5), in: Self.service)
      // A value before the answer to the subscription reaches who listens to the property; both ways have the next one.
      for (path, expected) in [
        (RemoteCharacteristic.NotificationPath.property, ["early", "late"]), (.automatic, ["late"]),
      ] {
        let got = try await bounded(.seconds(30), "the notifications") {
          try await notifying.notifications(path: path).prefix(expected.count).reduce(into: []) { $0.append($1) }
        }
        #expect(got.map { Self.text($0) } == expected)
      }
      let indicating = try device.characteristic(Self.uuid(4), in: Self.service)
      let indicated = try await bounded(.seconds(30), "the indication") {
        try await indicating.notifications().first { _ in true }
      }
      #expect(Self.text(indicated) == "indicated")
      _ = try await peer.next("confirmed")
    }

    /// The steps are listed in `lab/python/gatt_stranger.py`.
    @Test("A Bumble client: every GATT server operation", .timeLimit(.minutes(5)))
    func aBumbleClient() async throws {
      let peer = try LabPeer("gatt_stranger.py", ["--timeout", "290"])
      defer { peer.terminate() }
      let adapter = try await peer.adapter()
      let served = ServedGATT()
      let subscriptions = [served.indicating.subscriptions(), served.both.subscriptions()]
      let application = try await adapter.offer([served.service])
      let advertisement = try await adapter.advertise(.init(services: [served.service.uuid]))

      #expect(try await peer.next("included")["uuid"] as? String == "180F")
      try await readsAndRefusals(peer)
      try await writes(served, at: adapter)
      try await confirmations(served, subscriptions, peer, at: adapter)
      try await levels(of: try #require(adapter.devices.first(where: \.isConnected)), at: adapter)

      try await application.add([served.late])
      _ = try await peer.next("changed")
      #expect(try await peer.next("read")["sum"] as? Int == 42)
      #expect(await peer.status() == 0)
      try await application.unregister()
      try await advertisement.stop()
    }

    private func readsAndRefusals(_ peer: LabPeer) async throws {
      for (what, value) in [
        ("static", Pattern.bytes(0..<512)), ("changing", [UInt8](repeating: 1, count: 100)),
        ("description", Array("static".utf8)), ("note", [UInt8](0..<200)),
      ] {
        let read = try await peer.next("read")
        #expect(read["what"] as? String == what)
        #expect(read["size"] as? Int == value.count, "\(what)")
        #expect(read["sum"] as? Int == value.reduce(0) { $0 + Int($1) }, "\(what)")
      }
      // Core Specification 3.F.3.4.1.1.
      let invalidOffset = 7
      let notAuthorized = 8
      let invalidLength = 13
      for (what, code) in [
        ("offset", invalidOffset), ("gap", invalidOffset), ("much", invalidLength), ("piece", notAuthorized),
      ] {
        let refused = try await peer.next("refused")
        #expect(refused["what"] as? String == what)
        #expect(refused["code"] as? Int == code, "\(what)")
      }
    }

    private func writes(_ served: ServedGATT, at adapter: Adapter) async throws {
      var written = served.written.makeAsyncIterator()
      for value in [[UInt8](0..<150), [UInt8](0..<100)] {
        let request = try #require(await written.next())
        let isWhole = request.value == (value.count == 150 ? value + value : value + value + value)
        #expect(isWhole)
        #expect((request.offset, request.link, request.mtu) == (0, .le, 23))
        #expect(adapter.connectedPeers.contains(request.peer))
      }
      #expect(served.pieces.withLock { $0 } == 2, "one was refused, and one authorized the rest")
    }

    private func confirmations(
      _ served: ServedGATT, _ subscriptions: [BoundedStream<LocalCharacteristic.SubscriptionEvent>], _ peer: LabPeer,
      at adapter: Adapter
    ) async throws {
      let addressesOne = try await Radio.has(.notifiesOnePeer)
      for (characteristic, events) in zip([served.indicating, served.both], subscriptions) {
        let event = await events.first { _ in true }
        guard case .subscribed(let central, 23)? = event else { throw TestTimeout(phase: "\(event as Any)") }
        #expect(adapter.connectedPeers.contains(central))
        // BlueZ before 5.76 cannot address one central; later ones know that this one has not subscribed.
        let stranger = Peer(path: "/org/bluez/hci99/dev_00_00_00_00_00_00")
        let one = await #expect(throws: BlueZError.self) { try await characteristic.notify([1], to: stranger) }
        #expect(one?.code == (addressesOne ? .notConnected : .notSupported))
        try await characteristic.indicate(Array("confirm me".utf8))
        #expect(try await peer.next("value")["text"] as? String == "confirm me")
      }
    }

    /// A device without a Battery Service, whose level we know otherwise.
    private func levels(of device: Device, at adapter: Adapter) async throws {
      #expect(device.batteryLevel == nil)
      let events = device.events()
      func next() async throws -> Int {
        try await bounded(.seconds(10), "the battery level") {
          for await case .batteryLevel(let level) in events { return level }
          throw TestTimeout(phase: "the device is gone")
        }
      }
      let provider = try await adapter.provideBatteryLevel(42, of: device, source: "test")
      #expect(try await next() == 42)
      #expect(device.batteryLevel == 42)
      try await provider.set(41)
      #expect(try await next() == 41)
      await #expect(throws: BlueZError.self) { try await provider.set(101) }
      try await provider.stop()
      try await bounded(.seconds(10), "the end of the level") {
        while device.batteryLevel != nil { try await Task.sleep(for: .milliseconds(20)) }
      }
    }
  }
}
