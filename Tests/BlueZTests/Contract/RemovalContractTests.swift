import BlueZ
import Testing

@testable import BlueZTesting

/// Tests of `Device.remove()` where bluetoothd answers late, or not at all.
extension ContractTests {
  /// A bonded device that is connected.
  private func bonded(at lab: FakeBlueZ) async throws -> (central: Adapter, device: Device, opened: any Sendable) {
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let opened = try await Parlour().open(on: phone)
    let device = try await firstSeen(by: central)
    let agent = try await phone.session.register(PairingAgent(authorizePairing: { _ in true }))
    let window = try await phone.openPairingWindow(for: .seconds(60))
    try await device.connect()
    try await device.pair()
    try await window.close()
    try await agent.unregister()
    #expect(central.bondedDevices.count == 1)
    return (central, device, opened)
  }

  @Test(
    "A removal that is answered or served after the limit succeeds, and leaves nothing",
    arguments: [Fault.lateReplies(.seconds(7)), .slowReplies(.seconds(6))])
  func lateRemoval(fault: Fault) async throws {
    let lab = try await FakeBlueZ.start()
    let (central, device, opened) = try await bonded(at: lab)
    lab.adapters[1].inject(fault)
    try await device.remove()
    #expect(central.devices.isEmpty)
    #expect(try await code { try await device.remove() } == .staleHandle)
    lab.adapters[1].repair()
    await settled { await lab.adapters[1].holdings() == .init() }
    // The device can be used as a new one; the late answers concern nobody.
    let again = try await firstSeen(by: central)
    #expect(!again.isBonded)
    try await again.connect()
    #expect(try await again.characteristic(Parlour.box, in: Parlour.service).read().count == 18)
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("A removal that is never answered times out with its phase, and can be repeated") func unansweredRemoval()
    async throws
  {
    let lab = try await FakeBlueZ.start()
    let (central, device, opened) = try await bonded(at: lab)
    lab.adapters[1].inject(.removalsIgnored(times: 3))
    let error = await #expect(throws: BlueZError.self) { try await device.remove() }
    #expect(error?.code == .timedOut)
    #expect(error?.message.hasPrefix("removing ") == true, "\(String(describing: error))")
    #expect(central.bondedDevices.count == 1)
    lab.adapters[1].repair()
    try await device.remove()
    #expect(central.devices.isEmpty)
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test(
    "A removal during which its adapter or bluetoothd leaves does not succeed: the bond may be there",
    arguments: ["adapter", "bluetoothd"])
  func removalWithoutAdapter(gone: String) async throws {
    let lab = try await FakeBlueZ.start()
    let (central, device, opened) = try await bonded(at: lab)
    let peer = try #require(device.address)
    let ignored = Fault.removalsIgnored(times: 1)
    lab.adapters[1].inject(ignored)
    async let outcome = code { try await device.remove() }
    await settled { !lab.adapters[1].faults.has(ignored) }
    if gone == "adapter" { try await lab.adapters[1].unplug() } else { try await lab.kill() }
    #expect(try await outcome == (gone == "adapter" ? .staleHandle : .serviceUnavailable))
    lab.adapters[1].repair()
    if gone == "adapter" {
      try await lab.adapters[1].plugIn()
    } else {
      try await lab.startAgain()
    }
    _ = try await central.session.adapter(lab.adapters[1].name, timeout: .seconds(60))
    let again = try await central.find(peer, timeout: .seconds(60))
    #expect(again.isBonded)
    try await again.remove()
    #expect(central.devices.isEmpty)
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("A removal whose task is cancelled ends at once, and its late answer concerns nobody") func cancelledRemoval()
    async throws
  {
    let lab = try await FakeBlueZ.start()
    let (central, device, opened) = try await bonded(at: lab)
    lab.adapters[1].inject(.lateReplies(.seconds(60)))
    let removal = Task { try await device.remove() }
    await settled { central.devices.isEmpty }
    removal.cancel()
    await #expect(throws: CancellationError.self) { try await removal.value }
    lab.adapters[1].repair()
    #expect(try await firstSeen(by: central).isBonded == false)
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }
}
