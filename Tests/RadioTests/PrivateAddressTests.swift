import BlueZ
import Testing

/// An adapter with LE privacy shows private addresses, which change, and which its bonded peers resolve.
extension RadioTests {
  @Suite("Private addresses", .enabled(if: Radio.isLab, "needs the radio lab, and root in it")) struct PrivateAddresses
  {
    enum Role: Sendable, CaseIterable {
      case central, peripheral
    }

    @Test(
      "An adapter with privacy pairs, and is recognized at its next private address", .timeLimit(.minutes(5)),
      arguments: Role.allCases)
    func privacy(of role: Role) async throws {
      let host = PairingAgent(authorizePairing: { _ in true })
      try await PairingPair.with(central: PairingAgent(), peripheral: host) { pair in
        let isCentral = role == .central
        let hidden = isCentral ? pair.central : pair.peripheral
        let result: Result<Void, any Error>
        do {
          try await renew(hidden)
          try await pairAndReturn(pair, hidden, seenBy: isCentral ? pair.peripheral : pair.central)
          result = .success(())
        } catch {
          result = .failure(error)
        }
        try await set(.off, at: hidden)
        try result.get()
      }
    }

    /// - Parameter seer: The end without privacy.
    private func pairAndReturn(_ pair: PairingPair, _ hidden: Adapter, seenBy seer: Adapter) async throws {
      let air = try AirTraffic()
      let name = seer == pair.central ? Radio.mac : Radio.phone
      let window = try await pair.peripheral.openPairingWindow(for: .seconds(60))
      let device = try await pair.connect()
      try await device.pair()
      #expect(try await pair.readSecret(of: device) == PairingPair.value)
      // The identity, which came with the keys.
      #expect(seer.bondedDevices.map(\.address) == [hidden.address])
      try await window.close()
      try await device.disconnect()

      try await renew(hidden)
      // Without a window nothing but the bond admits the central to the secret.
      let again = try await pair.connectAgain()
      #expect(try await pair.readSecret(of: again) == PairingPair.value)
      #expect(again.address == pair.peripheral.address)
      #expect(again.isBonded)
      #expect(seer.devices.map(\.address) == [hidden.address])
      #expect(seer.devices.map(\.isConnected) == [true])
      try await again.disconnect()

      let peers = air.peers(of: name)
      #expect(peers.map(\.isResolvablePrivate) == [true, true], "\(peers)")
      #expect(Set(peers).count == 2, "\(peers)")
    }

    /// Gives an adapter a private address that it has not had yet, made from the same key.
    private func renew(_ adapter: Adapter) async throws { try await set(.always(key: [UInt8](1...16)), at: adapter) }

    private func set(_ privacy: AdapterSettings.Privacy, at adapter: Adapter) async throws {
      try await adapter.setPowered(false)
      try await adapter.setPrivacy(privacy)
      try await adapter.setPowered(true)
    }
  }
}
