import AudioIngestTesting
import BlueZ
import EdgeCoder
import Foundation
import Testing

/// A device that states the identity of another one while it pairs.
extension RadioTests.Access {
  /// The window may be open for any other device. Linux and bluetoothd believe the stated address, so that the device is
  /// the listed one for them; that this is no vain attempt shows at the end, when a user admits it.
  @Test(
    "A device that states the identity of a listed central is not served, also after a restart of bluetoothd",
    .timeLimit(.minutes(5)))
  func aStatedIdentityIsNotServed() async throws {
    let friend = try #require(BluetoothAddress("00:AA:01:00:00:99"))
    let peer = try LabPeer("edgecoder_impostor.py", ["--timeout", "290", "\(friend)"])
    defer { peer.terminate() }
    let name = try await peer.adapterName()
    let adapter = try await Radio.adapter(name)
    let temporary = try TemporaryFolder()
    let bonds = BondStore(folder: temporary.path)
    try bonds.add(.init(adapter: adapter.address, peer: friend, role: .central, madeMs: 0))
    let transport = try await BlueZPhoneTransport.start(
      on: adapter, name: "EdgeCoder-radio-test", access: .encrypted(allowed: [friend]), bonds: bonds)
    let phone = PhoneService(transport: transport, engine: SizedEngine())
    let serving = Task { await phone.run() }
    try await withWindow(on: name, PairingAgent(authorizePairing: { _ in true })) {
      _ = try await peer.next("paired")
    }
    #expect(try await answer(of: peer) == nil)
    #expect(try bonds.bonds().isEmpty, "the admission is over")
    try await Radio.fault("bluetoothd", "restart")
    try await bounded(.seconds(60), "the service after the restart") {
      while await !phone.snapshot().isUp { try await Task.sleep(for: .milliseconds(100), clock: .steady) }
    }
    #expect(try await answer(of: peer) == nil)
    #expect(await phone.snapshot().counters.requests == 0)

    try bonds.add(.init(adapter: adapter.address, peer: friend, role: .central))
    #expect(try await answer(of: peer) == "hello")
    serving.cancel()
    await serving.value
    try await transport.stop()
    try await peer.type("over")
    #expect(await peer.status() == 0)
  }

  /// Returns what the phone replies to the peer; `nil` if it refuses.
  private func answer(of peer: LabPeer) async throws -> String? {
    try await peer.type("ask")
    return try await peer.next("asked")["output"] as? String
  }
}
