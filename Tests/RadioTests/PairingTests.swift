import BlueZ
import Streams
import SystemTesting
import Testing
import Timing

/// Pairing by every method of LE, through agents at both ends.
extension RadioTests {
  @Suite("Pairing") struct Pairing {
    @Test("A protected value needs a bond, and a bond needs the pairing window", .timeLimit(.minutes(5)))
    func aSecretIsForPairedDevicesAndPairingForItsWindow() async throws {
      let asked = Lock<[Device]>([])
      let host = PairingAgent(authorizePairing: { device in
        asked.withLock { $0.append(device) }
        return true
      })
      try await PairingPair.with(central: PairingAgent(), peripheral: host) { pair in
        try await refusesOutsideTheWindow(pair)
        #expect(asked.withLock { $0 }.isEmpty)
        let window = try await pair.peripheral.openPairingWindow(for: .seconds(60))
        let device = try await pairsInTheWindow(pair)
        #expect(asked.withLock { $0.map(\.address) } == [pair.central.address])

        try await device.setTrusted(true)
        #expect(device.isTrusted)
        #expect(!device.isBlocked)
        try await window.close()
        #expect(!pair.peripheral.isPairable)
        try await blocksAStranger(pair)
      }
    }

    private func refusesOutsideTheWindow(_ pair: PairingPair) async throws {
      try await pair.peripheral.setPairable(false)
      var device = try await pair.connect()
      // The kernel pairs by itself for what wants encryption, and is refused.
      await #expect(throws: BlueZError.self) { try await pair.readSecret(of: device) }
      device = try await pair.connect()
      let closed = await #expect(throws: BlueZError.self) { try await device.pair() }
      #expect(closed?.code == .authenticationFailed)
      // Without a bond it would be as good: nothing but the agent is in the way.
      try await pair.central.setPairable(false)
      device = try await pair.connect()
      await #expect(throws: BlueZError.self) { try await pair.readSecret(of: device) }
      try await pair.central.setPairable(true)
    }

    private func pairsInTheWindow(_ pair: PairingPair) async throws -> Device {
      #expect(pair.peripheral.isPairable)
      let device = try await pair.connect()
      try await device.pair()
      #expect(try await pair.readSecret(of: device) == PairingPair.value)
      #expect(device.isPaired)
      #expect(device.isBonded)
      #expect(pair.central.bondedDevices == [device])
      #expect(pair.peripheral.bondedDevices.map(\.address) == [pair.central.address])
      try await device.pair()
      return device
    }

    private func blocksAStranger(_ pair: PairingPair) async throws {
      let stranger = try await pair.connect()
      #expect(!stranger.isPaired)
      #expect(!stranger.isTrusted)
      await #expect(throws: BlueZError.self) { try await pair.readSecret(of: stranger) }

      try await stranger.setBlocked(true)
      #expect(stranger.isBlocked)
      #expect(!stranger.isConnected)
      let refused = await #expect(throws: BlueZError.self) { try await stranger.connect() }
      #expect(refused?.code == .notPermitted)
      try await stranger.setBlocked(false)
      let advertisement = try await pair.peripheral.advertise(.init(services: [PairingPair.service]))
      try await stranger.connect()
      let guest = try #require(pair.peripheral.devices.first)
      try await guest.setBlocked(true)
      #expect(guest.isBlocked)
      // The end of the link reaches the other adapter over the air.
      try await eventually { !stranger.isConnected }
      try await guest.setBlocked(false)
      try await advertisement.stop()
    }

    @Test("An adapter has an alias and is discoverable for a while", .timeLimit(.minutes(5)))
    func anAdapterHasAnAliasAndIsDiscoverableForAWhile() async throws {
      let adapter = try await Radio.adapter(Radio.phone)
      let own = adapter.alias
      var aliases = adapter.values(of: \.alias).makeAsyncIterator()
      #expect(await aliases.next() == own)
      // An empty one is the name that it has by itself. bluetoothd may report two changes as one.
      for (alias, name) in [("Workbench", "Workbench"), ("", own)] {
        try await adapter.setAlias(alias)
        #expect(await aliases.next() == name)
      }

      let discoverable = adapter.values(of: \.isDiscoverable)
      try await adapter.setDiscoverable(true, for: .seconds(1))
      #expect(adapter.discoverableTimeout == .seconds(1))
      let seen = await discoverable.prefix(3).reduce(into: []) { $0.append($1) }
      #expect(seen == [false, true, false])
      try await adapter.setDiscoverable(true)
      #expect(adapter.isDiscoverable)
      #expect(adapter.discoverableTimeout == nil)
      try await adapter.setDiscoverable(false)
      #expect(!adapter.isDiscoverable)
    }

    @Test("Two users pair by numeric comparison", .timeLimit(.minutes(5)))
    func twoPersonsCompareNumbers() async throws {
      let here = Lock<[Passkey]>([])
      let there = Lock<[Passkey]>([])
      let answer = Lock(false)
      func agent(_ seen: Lock<[Passkey]>, _ answer: @escaping @Sendable () -> Bool) -> PairingAgent {
        PairingAgent(
          displayPasskey: { _, _ in },
          confirmPasskey: { _, passkey in
            seen.withLock { $0.append(passkey) }
            return answer()
          })
      }
      try await PairingPair.with(
        central: agent(here, { true }), peripheral: agent(there, { answer.withLock { $0 } })
      ) { pair in
        let window = try await pair.peripheral.openPairingWindow(for: .seconds(60))
        var device = try await pair.connect()
        let refused = await #expect(throws: BlueZError.self) { try await device.pair() }
        #expect(refused?.code == .authenticationFailed)
        #expect(!device.isPaired)
        answer.withLock { $0 = true }
        device = try await pair.connect()
        try await device.pair()
        #expect(device.isPaired)
        #expect(here.withLock { $0 } == there.withLock { $0 })
        #expect(here.withLock { $0.count } == 2)
        try await window.close()
      }
    }

    /// Later ones have one capability for both ends of a bluetoothd; PairingInteroperability has a peer that displays.
    @Test(
      "A passkey is displayed at one end and entered at the other",
      .enabled("needs BlueZ before 5.81, which has a capability for each end") {
        try await Radio.has(.pairsAsTheCaller)
      },
      .timeLimit(.minutes(5)))
    func aPasskeyIsShownAtOneEndAndEnteredAtTheOther() async throws {
      let (shown, source) = BoundedStream.make(of: Passkey.self, limit: 4)
      let (hidden, hiding) = BoundedStream.make(of: Void.self, limit: 4)
      let wrong = Lock(true)
      let typist = PairingAgent(enterPasskey: { _ in
        for await passkey in shown {
          guard wrong.withLock({ $0 }) else { return passkey }
          return try #require(Passkey(passkey.number ^ 1))
        }
        throw TestTimeout(phase: "no passkey was shown")
      })
      let display = PairingAgent(displayPasskey: { _, passkey in
        source.yield(passkey)
        do { try await Task.sleep(for: .seconds(60), clock: .steady) } catch { hiding.yield(()) }
      })
      try await PairingPair.with(central: typist, peripheral: display) { pair in
        let window = try await pair.peripheral.openPairingWindow(for: .seconds(60))
        var device = try await pair.connect()
        let refused = await #expect(throws: BlueZError.self) { try await device.pair() }
        #expect(refused?.code == .authenticationFailed)
        wrong.withLock { $0 = false }
        device = try await pair.connect()
        try await device.pair()
        #expect(try await pair.readSecret(of: device) == PairingPair.value)
        try await bounded(.seconds(10), "the passkey to be hidden") { for await _ in hidden { return } }
        try await window.close()
      }
    }

    @Test("A pairing question without an answer times out", .timeLimit(.minutes(5)))
    func nobodyWaitsForADecisionForEver() async throws {
      let (events, event) = BoundedStream.make(of: String.self, limit: 8)
      let slow = PairingAgent(
        displayPasskey: { _, _ in },
        confirmPasskey: { _, _ in
          event.yield("asked")
          do { try await Task.sleep(for: .seconds(60), clock: .steady) } catch { event.yield("cancelled") }
          return true
        }, decisionTimeout: .seconds(2))
      let quick = PairingAgent(displayPasskey: { _, _ in }, confirmPasskey: { _, _ in true })
      try await PairingPair.with(central: quick, peripheral: slow) { pair in
        let window = try await pair.peripheral.openPairingWindow(for: .seconds(60))
        var device = try await pair.connect()
        var iterator = events.makeAsyncIterator()
        let late = await #expect(throws: BlueZError.self) { try await device.pair() }
        #expect(late?.code == .authenticationFailed)
        #expect(await iterator.next() == "asked")
        #expect(await iterator.next() == "cancelled")

        device = try await pair.connect()
        let pairing = Task { [device] in try await device.pair() }
        #expect(await iterator.next() == "asked")
        pairing.cancel()
        await #expect(throws: CancellationError.self) { try await pairing.value }
        #expect(await iterator.next() == "cancelled")
        #expect(!device.isPaired)
        try await window.close()
      }
    }

    @Test(
      "The pairing agent and its window survive a restart of bluetoothd", .enabled(if: Radio.isLab, Radio.labNeeded),
      .timeLimit(.minutes(5)))
    func agentAndWindowOutliveBluetoothd() async throws {
      let host = PairingAgent(authorizePairing: { _ in true })
      try await PairingPair.with(central: host, peripheral: host) { pair in
        let window = try await pair.peripheral.openPairingWindow(for: .seconds(100))
        try await Radio.fault("bluetoothd", "restart")
        // Its adapters are not on yet, but will be: who scans and advertises waits for that.
        let device = try await pair.connect()
        try await device.pair()
        #expect(device.isPaired)
        #expect(window.remaining > .zero)
        try await window.close()
      }
    }

    @Test("A pairing window ends by itself and stays closed", .timeLimit(.minutes(5)))
    func aWindowEndsByItselfAndStaysShut() async throws {
      let adapter = try await Radio.adapter(Radio.phone)
      let pairable = adapter.values(of: \.isPairable)
      let window = try await adapter.openPairingWindow(for: .seconds(1))
      let other = await #expect(throws: BlueZError.self) { try await adapter.openPairingWindow(for: .seconds(1)) }
      #expect(other?.code == .inProgress)
      var seen = pairable.makeAsyncIterator()
      func expect(_ states: Bool...) async {
        for state in states { #expect(await seen.next() == state) }
      }
      await expect(false, true, false)
      // GLib rounds a timer of whole seconds, by up to a quarter of a second downwards.
      #expect(window.remaining < .milliseconds(250))
      // bluetoothd makes its adapters pairable for a first agent, and the window shuts itself again.
      let agent = try await adapter.session.register(PairingAgent())
      await expect(true, false)
      try await agent.unregister()
      try await window.close()
    }

    @Test("A session has one pairing agent", .timeLimit(.minutes(5)))
    func aSessionHasOneAgent() async throws {
      let session = try await Session.open()
      var agent: AgentRegistration? = try await session.register(PairingAgent())
      #expect(agent != nil)
      let second = await #expect(throws: BlueZError.self) { try await session.register(PairingAgent()) }
      #expect(second?.code == .inProgress)
      // The end of the one must not take the next one away.
      agent = nil
      agent = try await session.register(PairingAgent())
      try await agent?.unregister()
      let odd = await #expect(throws: BlueZError.self) {
        try await session.register(PairingAgent(confirmPasskey: { _, _ in true }))
      }
      #expect(odd?.code == .invalidArgument)
    }
  }
}
