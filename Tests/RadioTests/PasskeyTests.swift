import BlueZ
import EdgeCoder
import Testing

/// A phone that answers only who has paired by a passkey or a comparison.
extension RadioTests {
  @Suite("Pairing with passkeys") struct Passkeys {
    /// Centrals of Bumble pair in every way there is, and a person answers for the phone in a terminal.
    @Test(
      "A central that paired by a passkey is served",
      .enabled(if: Radio.isLab && Radio.python != nil, Radio.peersNeeded),
      .enabled(if: Command.isBuilt, Command.needed), .timeLimit(.minutes(5)))
    func whoHasPairedByAPasskeyIsServed() async throws {
      let methods = ["just-works", "legacy", "display", "keyboard", "compare"]
      let peer = try LabPeer("edgecoder_pairer.py", ["--timeout", "290"] + methods)
      defer { peer.terminate() }
      let name = try await peer.adapterName()
      try await withPhone(on: name, access: .authenticated()) { phone in
        for method in methods {
          _ = try await peer.next("connected")
          let terminal = try Command.terminal("pair --for 60s --adapter \(name)")
          _ = try await terminal.line(with: "lets one device pair")
          try await peer.type("")
          try await answer(terminal, peer, method)
          _ = try await terminal.line(with: "paired with ")
          // Whoever hears a legacy pairing has its keys, whatever was typed.
          if ["just-works", "legacy"].contains(method) {
            #expect(try await peer.next("refused")["problem"] as? String == "INSUFFICIENT_AUTHENTICATION")
          } else {
            #expect(try await peer.next("served")["output"] as? String == "hello", "\(method)")
          }
        }
        #expect(await phone.snapshot().counters.requests == 3)
      }
      try await peer.type("")
      #expect(await peer.status() == 0)
    }

    /// Does what the user at the phone does when a peer pairs by a method.
    private func answer(_ terminal: Subprocess, _ peer: LabPeer, _ method: String) async throws {
      switch method {
      case "just-works":
        _ = try await terminal.line(with: "requests pairing without a number to compare")
        try await terminal.type("y")
      case "display", "legacy":
        let number = try #require(try await peer.next("number")["number"] as? Int)
        _ = try await terminal.line(with: "shows a passkey of six digits")
        try await terminal.type("\(Passkey(UInt32(number))!)")
      case "keyboard":
        let shown = try await terminal.line(with: "needs this passkey: ")
        _ = try await peer.next("asked")
        try await peer.type(String(shown.filter(\.isNumber).suffix(6)))
      default:
        let number = try #require(try await peer.next("number")["number"] as? Int)
        let shown = try await terminal.line(with: "shows this number?")
        #expect(shown.contains("\(Passkey(UInt32(number))!)"))
        try await terminal.type("y")
      }
    }

    /// A central that has paired before the phone demanded more says so, and what to do; when that was done it is served.
    @Test("A central with a just-works bond says how to pair again", .timeLimit(.minutes(5)))
    func aCentralWithAJustWorksBondSaysWhatIsToBeDone() async throws {
      let anybody = PairingAgent(authorizePairing: { _ in true })
      try await PairingPair.with(central: anybody, peripheral: anybody) { pair in
        try await pair.forget()
        let window = try await pair.peripheral.openPairingWindow(for: .seconds(60))
        let reason = try await withCentral(on: Radio.mac, access: .encrypted()) { central in
          try await withPhone(on: Radio.phone, access: .encrypted()) { _ in
            try await pair.central.find(pair.peripheral.address, timeout: .seconds(60)).pair()
            try await central.waitForPhones()
          }
          try await window.close()
          let events = await central.events()
          return try await withPhone(on: Radio.phone, access: .authenticated()) { _ in
            try await bounded(.seconds(60), "the central's reason") {
              for await case .connection(_, _, .waiting, let failure?) in events
              where failure.code != .failed { return failure }
              throw TestTimeout(phase: "the central ended")
            }
          }
        }
        #expect(reason.code == .bondRejected, "\(reason)")
        #expect(reason.address == "\(pair.peripheral.address)", "\(reason)")
      }
      let person = PairingAgent(displayPasskey: { _, _ in }, confirmPasskey: { _, _ in true })
      try await PairingPair.with(central: person, peripheral: person) { pair in
        // Looking first: a virtual controller tells of an advertisement once.
        let service = BluetoothUUID(stringLiteral: EdgeCoderUUIDs.service)
        let sightings = try await pair.central.discover(.init(services: [service]))
        try await withPhone(on: Radio.phone, access: .authenticated(), links: [.gatt]) { _ in
          let window = try await pair.peripheral.openPairingWindow(for: .seconds(60))
          try await sightings.firstDevice("the phone's advertisement").pair()
          try await window.close()
          try await withCentral(on: Radio.mac, access: .authenticated()) { central in
            let reply = try await central.askUntilAnswered("2000", within: .seconds(60))
            #expect(reply.answer.output == SizedEngine.text(2000))
            #expect(await central.status().phones.first?.linkBearer == .gatt)
          }
        }
      }
    }
  }
}
