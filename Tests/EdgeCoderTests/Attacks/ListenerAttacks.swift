import BlueZ
import DeterministicTesting
import EdgeCoderTesting
import Streams
import SystemTesting
import Testing
import Timing

@testable import EdgeCoder

/// A bonded central that is not on the list of a phone, and subscribes before bluetoothd has ended its connection. Below
/// BlueZ 5.76 it would hear what is sent to others.
@Suite("Centrals that listen to a phone", .timeLimit(.minutes(5))) struct ListenerAttacks {
  private static let service = BluetoothUUID(stringLiteral: EdgeCoderUUIDs.service)

  /// Starts a fake BlueZ with a phone's adapter, that of a friend and that of a guest. Both are paired with the first.
  private func start(_ release: BlueZRelease) async throws -> (air: FakeTrust, policy: AccessPolicy) {
    let air = try await FakeTrust.start(adapters: 3, release: release)
    try await air.lab.adapter(0).withAdvertisement(.init(name: "EdgeCoder-0")) { _ in
      for central in 1...2 { try await air.pair(central, with: 0) }
    }
    try air.admit(1, at: 0, as: .central)
    return (air, .encrypted(allowed: [air.lab.adapters[1].address]))
  }

  /// Connects a central, and has it collect the values of a characteristic.
  private func subscribe(_ central: Int, to uuid: String, _ air: FakeTrust) async throws -> (Device, Lock<[[UInt8]]>) {
    let device = try await air.device(0, seenBy: central)
    try await device.connect()
    let values = try await device.characteristic(BluetoothUUID(stringLiteral: uuid), in: Self.service).notifications()
    let heard = Lock<[[UInt8]]>([])
    Task { for try await value in values { heard.withLock { $0.append(value) } } }
    return (device, heard)
  }

  /// Expects that what is sent to the friend waits until the guest has gone, and that the guest hears nothing of it.
  private func expectSilence(
    _ air: FakeTrust, on uuid: String, send: @escaping @Sendable ([UInt8], PeerID) async throws -> Void
  ) async throws {
    air.lab.adapters[0].inject(.slowDisconnects(.seconds(60)))
    let (friend, heard) = try await subscribe(1, to: uuid, air)
    let (guest, overheard) = try await subscribe(2, to: uuid, air)
    let peer = try #require(try await air.lab.adapter(0).device(air.lab.adapters[1].address)).peer
    let asked = air.questions.value
    let isSent = Lock(false)
    let sending = Task {
      try await send([1, 2, 3], PeerID(peer))
      isSent.withLock { $0 = true }
    }
    // It looks who is connected again and again, or has sent the value.
    try await eventually { isSent.withLock { $0 } || air.questions.value > asked + 3 }
    #expect(!isSent.withLock { $0 })
    #expect(guest.isConnected)
    await air.lab.adapters[2].loseConnections()
    try await sending.value
    try await eventually { heard.withLock { $0 } == [[1, 2, 3]] }
    #expect(overheard.withLock { $0 }.isEmpty)
    withExtendedLifetime((friend, guest)) {}
  }

  @Test(
    "A phone sends nothing while a bonded central that is not on its list is connected", arguments: FakeTrust.releases)
  func nothingIsSent(release: BlueZRelease) async throws {
    let (air, policy) = try await start(release)
    let transport = try await air.phone(0, access: policy)
    try await expectSilence(air, on: EdgeCoderUUIDs.response) { value, peer in
      try await transport.notify(.response, value, to: transport.addressesSinglePeer ? peer : nil)
    }
    try await transport.stop()
    try await air.stop()
  }

  @Test(
    "A v2 mux over GATT sends nothing while a bonded central that is not on the list is connected",
    arguments: FakeTrust.releases)
  func noMuxValueIsSent(release: BlueZRelease) async throws {
    let (air, policy) = try await start(release)
    let control = try await air.control(0, policy)
    let mux = MuxValueCharacteristic(policy, control, release.has(.notifiesOnePeer))
    let adapter = try await air.lab.adapter(0)
    let application = try await adapter.offer([LocalService(Self.service, characteristics: [mux.characteristic])])
    let advertisement = try await adapter.advertise(.init(name: "EdgeCoder-0", services: [Self.service]))
    try await expectSilence(air, on: EdgeCoderUUIDs.muxValues) { try await mux.radio.notify($0, $1) }
    try await advertisement.stop()
    try await application.unregister()
    try await air.stop()
  }

  /// Without the watch of connections, which would end the connection at once.
  @Test("A bonded central that is not on the list is disconnected after five seconds, before anything is sent")
  func theWaitEnds() async throws {
    let (air, policy) = try await start(FakeTrust.releases[0])
    let clock = ManualClock()
    let control = try await air.control(0, policy, time: TimeSource(clock))
    let mux = MuxValueCharacteristic(policy, control, false)
    let adapter = try await air.lab.adapter(0)
    let application = try await adapter.offer([LocalService(Self.service, characteristics: [mux.characteristic])])
    let advertisement = try await adapter.advertise(.init(name: "EdgeCoder-0", services: [Self.service]))
    let (guest, overheard) = try await subscribe(2, to: EdgeCoderUUIDs.muxValues, air)
    let waiting = Task { try await control.waitForPermittedReceivers() }
    // It looks again each 20 ms.
    for look in 1..<250 { await clock.advance(toSleeperAt: .milliseconds(20) * look) }
    await clock.waitForSleeper(until: .seconds(5))
    #expect(guest.isConnected)
    clock.advance(by: .milliseconds(20))
    try await waiting.value
    // The end of the connection reaches the guest by its own bus connection.
    try await eventually { !guest.isConnected }
    #expect(overheard.withLock { $0 }.isEmpty)
    try await advertisement.stop()
    try await application.unregister()
    try await air.stop()
  }
}
