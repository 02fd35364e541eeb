import BlueZ
import EdgeCoder
import Streams
import Testing

/// Who hears what a closed phone tells another central.
extension RadioTests.Access {
  /// Below BlueZ 5.76 bluetoothd sends a notification to all who have subscribed, and keeps the subscriptions of a bond.
  /// The phone does not wait for the listener, whose bond it admits: what keeps the value from it is the kernel, which
  /// sends nothing over the connection of a bonded device before it is encrypted.
  @Test("Whoever uses the address of a paired central without its keys hears nothing", .timeLimit(.minutes(5)))
  func aConnectionWithoutEncryptionHearsNothing() async throws {
    let peer = try LabPeer("edgecoder_listener.py", ["--adapters", "2", "--timeout", "290"])
    defer { peer.terminate() }
    let phoneName = try await peer.adapterName()
    let mac = try await Radio.adapter(try await peer.adapterName())
    let phoneAddress = try await Radio.adapter(phoneName).address
    try await withPhone(on: phoneName, access: .encrypted()) { phone in
      let own = try await mac.session.register(PairingAgent())
      let isFriend = Lock(false)
      // One after the other: bluetoothd 5.66 confuses two pairings at once.
      let agent = PairingAgent(authorizePairing: { $0.address == mac.address || isFriend.withLock { $0 } })
      try await withWindow(on: phoneName, agent) {
        try await mac.find(phoneAddress, timeout: .seconds(60)).pair()
        isFriend.withLock { $0 = true }
        _ = try await peer.next("paired")
      }
      try await own.unregister()
      try await withCentral(at: mac, access: .encrypted()) { central in
        try await central.waitForPhones()
        try await peer.type("")
        _ = try await peer.next("back")
        let before = await phone.snapshot().counters.refused.accesses
        try await ask(central)
        #expect(try await peer.next("heard")["notifications"] as? Int == 0)
        #expect(await phone.snapshot().counters.refused.accesses > before, "the phone ended the connection")

        // The same connection with encryption: then it hears where BlueZ cannot tell subscribers apart.
        _ = try await peer.next("encrypted")
        try await ask(central)
        try await peer.type("")
        let heard = try #require(try await peer.next("heard")["notifications"] as? Int)
        let addressesOne = try #require(await mac.session.version()).has(.notifiesOnePeer)
        #expect((heard > 0) != addressesOne)
      }
    }
    try await peer.type("")
    #expect(await peer.status() == 0)
  }

  private func ask(_ central: Central) async throws {
    let reply = try await central.generate(prompt: "not for everybody", maxTokens: nil)
    #expect(reply.answer.output == "not for everybody")
  }
}
