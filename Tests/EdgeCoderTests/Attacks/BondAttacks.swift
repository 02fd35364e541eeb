import BlueZ
import EdgeCoderTesting
import Foundation
import SystemTesting
import Testing

@testable import EdgeCoder

/// Bonds that no user made for a phone: none of them opens it.
@Suite("Bonds that no user made", .timeLimit(.minutes(5))) struct BondAttacks {
  private func request(_ device: Device) throws -> RemoteCharacteristic {
    try device.characteristic(
      BluetoothUUID(stringLiteral: EdgeCoderUUIDs.request), in: BluetoothUUID(stringLiteral: EdgeCoderUUIDs.service))
  }

  /// Expects that the central at an adapter cannot write a request, and that no request arrives.
  /// - Returns: The phone as the central sees it.
  @discardableResult
  private func expectRefusal(of central: Int, by phone: PhoneService, _ air: FakeTrust) async throws -> Device {
    let device = try await air.device(0, seenBy: central)
    await #expect(throws: BlueZError.self) {
      try await device.connect()
      try await request(device).write(Array(#"{"id":"1","prompt":"let me in"}"#.utf8))
    }
    #expect(await phone.snapshot().counters.requests == 0)
    return device
  }

  @Test(
    "A bond made outside the pairing window does not open the phone, and its writes fail", arguments: FakeTrust.releases
  )
  func aForeignBondDoesNotOpenThePhone(release: BlueZRelease) async throws {
    let air = try await FakeTrust.start(release: release)
    let transport = try await air.phone(0, access: .encrypted(), bonds: air.bonds)
    let phone = PhoneService(transport: transport, engine: CuriousEngine())
    try await running([phone.run]) {
      try await air.pair(1, with: 0)
      let device = try await expectRefusal(of: 1, by: phone, air)
      try await eventually { await phone.snapshot().counters.refused.accesses > 0 }
      #expect(await phone.snapshot().counters.requests == 0)

      // The user admits the bond; the phone need not be restarted.
      try air.bonds.add(
        .init(adapter: air.lab.adapters[0].address, peer: air.lab.adapters[1].address, role: .central))
      try await eventually {
        do {
          try await device.connect()
          try await request(device).write(Array(#"{"id":"2","prompt":"hello"}"#.utf8))
          return true
        } catch {
          return false  // still being disconnected
        }
      }
      try await eventually { await phone.snapshot().counters.requests == 1 }
    }
    try await transport.stop()
    try await air.stop()
  }

  @Test("A bonded central that is not on the list gets an error for its write")
  func anUnlistedCentralGetsAnError() async throws {
    let air = try await FakeTrust.start()
    let friend = try #require(BluetoothAddress("00:AA:01:00:00:99"))
    let transport = try await air.phone(0, access: .encrypted(allowed: [friend]))
    let phone = PhoneService(transport: transport, engine: CuriousEngine())
    try await running([phone.run]) {
      try await air.pair(1, with: 0)
      try await expectRefusal(of: 1, by: phone, air)
    }
    try await transport.stop()
    try await air.stop()
  }

  @Test(
    "A second bond under an admitted identity ends the admission, also after a restart of bluetoothd",
    arguments: FakeTrust.releases)
  func aClaimedIdentityIsNotAdmitted(release: BlueZRelease) async throws {
    let air = try await FakeTrust.start(release: release)
    let own = air.lab.adapters[0].address
    let peer = air.lab.adapters[1].address
    try air.bonds.add(.init(adapter: own, peer: peer, role: .central, madeMs: 0))
    let transport = try await air.phone(0, access: .encrypted(), bonds: air.bonds)
    let phone = PhoneService(transport: transport, engine: CuriousEngine())
    try await running([phone.run]) {
      try await air.pair(1, with: 0)
      try await eventually { await phone.snapshot().counters.refused.accesses > 0 }
      #expect(try air.bonds.bonds().isEmpty)
      try await air.lab.restart()
      try await expectRefusal(of: 1, by: phone, air)
    }
    try await transport.stop()
    try await air.stop()
  }

  @Test("A bond that is made after a watch was created, and before it runs, ends the admission, too")
  func aWatchMissesNothing() async throws {
    let air = try await FakeTrust.start()
    let phone = try await air.lab.adapter(0)
    let peer = air.lab.adapters[1].address
    let advertisement = try await phone.advertise(
      .init(services: [BluetoothUUID(stringLiteral: EdgeCoderUUIDs.service)]))
    try air.admit(1, at: 0, as: .central, madeMs: 0)
    let watch = try await air.control(0, .encrypted()).watch()
    try await air.pair(1, with: 0)
    try await eventually("the phone's session sees the bond") { phone.device(peer)?.isBonded == true }
    let watching = Task { await watch.run() }
    try await eventually("the admission is over") { try air.bonds.bonds().isEmpty }
    watching.cancel()
    await watching.value
    try await advertisement.stop()
    try await air.stop()
  }

  @Test("An admission belongs to the bond that it followed, and to no later one")
  func anAdmissionBelongsToItsBond() throws {
    let friend = try #require(BluetoothAddress("00:AA:01:00:00:01"))
    let guest = try #require(BluetoothAddress("00:AA:01:00:00:02"))
    var watch = BondWatch([:])
    #expect(watch.handle(bond: friend, admitted: [:], nowMs: 1000).isEmpty)
    // The event may be handled after the user's program has added the bond.
    #expect(watch.handle(bond: guest, admitted: [friend: 1500, guest: 2000], nowMs: 2500).isEmpty)
    #expect(watch.handle(bond: friend, admitted: [friend: 1500, guest: 2000], nowMs: 3000) == [friend])
    #expect(
      watch.handle(bond: guest, others: [friend], admitted: [friend: 4000, guest: 2000], nowMs: 90_000).count == 2)
  }

  @Test("A damaged list of bonds admits nobody, and the phone says so when it starts")
  func aDamagedListAdmitsNobody() async throws {
    let air = try await FakeTrust.start()
    try air.bonds.add(.init(adapter: air.lab.adapters[0].address, peer: air.lab.adapters[1].address, role: .central))
    let file = air.folder + "/bonds.json"
    #expect(try air.bonds.bonds().count == 1)
    try Data("[{".utf8).write(to: URL(filePath: file))
    let store = air.bonds
    #expect(throws: (any Error).self) { try store.bonds() }
    #expect(store.bond(of: air.lab.adapters[1].address, at: air.lab.adapters[0].address, as: .central) == nil)
    await #expect(throws: (any Error).self) { _ = try await air.phone(0, access: .encrypted(), bonds: store) }
    try await air.stop()
  }

  @Test("The list of bonds keeps each role apart, and forgets what is removed")
  func theListKeepsRolesApart() async throws {
    let air = try await FakeTrust.start(adapters: 0)
    let adapter = try #require(BluetoothAddress("00:AA:01:00:00:41"))
    let peer = try #require(BluetoothAddress("00:AA:01:00:00:42"))
    let store = air.bonds
    try store.remove(peer, at: adapter)
    #expect(!FileManager.default.fileExists(atPath: air.folder), "looking creates nothing")
    try store.add(.init(adapter: adapter, peer: peer, role: .phone))
    #expect(store.bond(of: peer, at: adapter, as: .phone) != nil)
    #expect(store.bond(of: peer, at: adapter, as: .central) == nil)
    #expect(store.bond(of: peer, at: peer, as: .phone) == nil)
    try air.bonds.add(.init(adapter: adapter, peer: peer, role: .central))
    #expect(store.bond(of: peer, at: adapter, as: .central) != nil, "another process has changed the file")
    try store.remove(peer, at: adapter)
    #expect(try air.bonds.bonds().isEmpty)
    try await air.stop()
  }
}
