import BlueZ
import EdgeCoder
import Foundation
import Streams
import Testing
import Timing

/// Who may use a phone in its closed modes.
extension RadioTests {
  @Suite("Access to a phone, over the radio", .enabled(if: Radio.isLab && Radio.python != nil, Radio.peersNeeded))
  struct Access {
    /// What the stranger tries; of a write without response nobody learns what became of it.
    private static let attempts = 10

    /// First a stranger without a bond tries everything. Then our central, which sends nothing to a phone that it does not
    /// know, is paired by its user while a window is open, and so is a guest who is not on the list: it may be subscribed
    /// while the central gets a reply.
    @Test("A closed phone answers the central on its list and no other central", .timeLimit(.minutes(5)))
    func aClosedPhoneAnswersWhoIsOnItsListAndNobodyElse() async throws {
      let peer = try LabPeer("edgecoder_stranger.py", ["--adapters", "2", "--timeout", "290"])
      defer { peer.terminate() }
      let phoneName = try await peer.adapterName()
      let macName = try await peer.adapterName()
      let mac = try await Radio.adapter(macName)
      let phoneAddress = try await Radio.adapter(phoneName).address
      try await withPhone(on: phoneName, access: .encrypted(allowed: [mac.address])) { phone in
        try await refusesTheStranger(peer, phone)

        // One bluetoothd has both ends. A session without an agent pairs by the default one, the phone's, and when that
        // pairing ends, bluetoothd 5.66 takes back what it asks that agent just then about another device, which gets no
        // answer.
        let own = try await mac.session.register(PairingAgent())
        try await withCentral(at: mac, access: .encrypted()) { central in
          try await refusesThePhone(central)
          let isOpen = Lock(false)
          let agent = PairingAgent(authorizePairing: { $0.address == mac.address || isOpen.withLock { $0 } })
          try await withWindow(on: phoneName, agent) {
            try await mac.find(phoneAddress, timeout: .seconds(60)).pair()
            try await central.waitForPhones()
            isOpen.withLock { $0 = true }
            _ = try await peer.next("paired")
            _ = try await peer.next("back")
            try await onlyTheCentralHears(central, peer)
            let counters = await phone.snapshot().counters
            #expect(counters.requests == 1)
            #expect(counters.refused.accesses >= 2)
          }
        }
        try await own.unregister()
        try await Radio.fault("bluetoothd", "restart")
        try await withCentral(on: macName, access: .encrypted()) { central in
          let reply = try await central.askUntilAnswered("still me", within: .seconds(60))
          #expect(reply.answer.output == "still me")
        }
      }
    }

    @Test("A closed central sends nothing to a stranger that advertises the service", .timeLimit(.minutes(5)))
    func aClosedCentralSendsNothingToAStranger() async throws {
      try await withPhone(on: Radio.phone) { phone in
        try await withCentral(on: Radio.mac, access: .encrypted()) { central in
          try await refusesThePhone(central)
          let snapshot = await phone.snapshot()
          #expect(snapshot.peers == 0)
          #expect(snapshot.counters.requests == 0)
        }
      }
    }

    private func refusesTheStranger(_ peer: LabPeer, _ phone: PhoneService) async throws {
      for _ in 0..<Self.attempts {
        let tried = try await peer.next("tried")
        #expect(tried["refused"] != nil, "\(tried["what"] ?? "")")
      }
      _ = try await peer.next("left")
      let counters = await phone.snapshot().counters
      #expect(counters.requests == 0)
      #expect(counters.discardedBytes == 0)
      #expect(counters.refused.accesses == 0)
    }

    private func onlyTheCentralHears(_ central: Central, _ peer: LabPeer) async throws {
      let reply = try await central.generate(prompt: "for my ears only", maxTokens: nil)
      #expect(reply.answer.output == "for my ears only")
      let heard = try await peer.next("heard")
      #expect(heard["notifications"] as? Int == 0)
    }

    /// Four centrals attack an open phone, each in its way, and another one asks all the while: for
    /// `EDGEBLUE_ATTACK_SECONDS`, ten when nothing is said, and on until it was answered twice and an attack was noticed.
    @Test("A phone under attack still answers other centrals", .timeLimit(.minutes(5)))
    func aPhoneUnderAttackStillAnswersOthers() async throws {
      let seconds = Int(ProcessInfo.processInfo.environment["EDGEBLUE_ATTACK_SECONDS"] ?? "") ?? 10
      let peer = try LabPeer("edgecoder_attacker.py", ["--adapters", "2"])
      defer { peer.terminate() }
      let phoneName = try await peer.adapterName()
      let macName = try await peer.adapterName()
      try await withCentral(on: macName) { central in
        // Low enough to be reached also where an attacker on an emulated CPU manages only a few writes a second.
        let limits = { (configuration: inout PhoneConfiguration) in
          configuration.rates.requestsPerMinute = 20
          configuration.requestLimit = 16 << 10
        }
        try await withPhone(on: phoneName, limits: limits) { phone in
          try await central.waitForPhones()
          _ = try await peer.next("attacking")
          let end = ContinuousClock.now + .seconds(seconds)
          var slowest = Duration.zero
          var count = 0, noticed = 0
          while ContinuousClock.now < end || count < 2 || noticed == 0 {
            let begun = ContinuousClock.now
            let reply = try await central.generate(prompt: "\(count) is my number", maxTokens: nil)
            #expect(reply.answer.output == "\(count) is my number")
            slowest = max(slowest, ContinuousClock.now - begun)
            count += 1
            // Within its own twenty a minute.
            try await Task.sleep(for: .milliseconds(3100), clock: .steady)
            let counters = await phone.snapshot().counters
            noticed = counters.refused.limited + counters.refused.malformed
          }
          try await peer.type("over")
          let done = try await peer.next("done")
          let counters = await phone.snapshot().counters
          print("\(count) replies during the attack, the slowest after \(slowest); \(done); \(counters)")
          // On a busy host the emulated machine answers at its own pace.
          #expect(slowest < .seconds(15))
          // On an emulated CPU not all have a link in time.
          expectAttacks(done, seconds < 60 ? 2 : 4)
        }
      }
    }

    private func expectAttacks(_ done: [String: any Sendable], _ count: Int) {
      let ways = ["flood", "oversized", "offsets", "half-open"].filter { (done[$0] as? Int ?? 0) > 0 }
      #expect(ways.count >= count, "\(ways)")
    }

    func withWindow(on name: String, _ agent: PairingAgent, _ body: () async throws -> Void) async throws {
      let adapter = try await Radio.adapter(name)
      let registration = try await adapter.session.register(agent)
      let window = try await adapter.openPairingWindow(for: .seconds(150))
      try await body()
      try await window.close()
      try await registration.unregister()
    }

    /// Waits until the central has found the phone, and does not use it.
    private func refusesThePhone(_ central: Central) async throws {
      try await bounded(.seconds(60), "the central's refusal") {
        while true {
          let error = await #expect(throws: InferenceError.self) {
            try await central.generate(prompt: "for nobody", maxTokens: nil)
          }
          if error?.message.contains("is not paired with this central") == true { return }
          try await Task.sleep(for: .milliseconds(200), clock: .steady)
        }
      }
    }
  }
}
