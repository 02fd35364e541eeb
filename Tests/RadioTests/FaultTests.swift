import BlueZ
import DBus
import EdgeCoder
import Testing

/// What goes wrong on real boards, done on purpose.
extension RadioTests {
  @Suite("Faults of bluetoothd, adapters and connections") struct Faults {
    @Test("A central that leaves in the middle of a reply cancels only its own job", .timeLimit(.minutes(5)))
    func aCentralThatLeavesInMidReplyStopsItsJobOnly() async throws {
      try await withPhone(on: Radio.phone) { phone in
        try await withCentral(on: Radio.mac) { central in
          try await central.waitForPhones()
          let asked = Task { try await central.generate(prompt: "100000", maxTokens: nil) }
          try await ContinuousClock().sleep(for: .milliseconds(600))
          asked.cancel()
          _ = await asked.result
        }
        // That central is gone with its links; a new one must be served at once.
        try await withCentral(on: Radio.mac) { central in
          let got = try await central.askUntilAnswered("next", within: .seconds(60)).answer.output
          #expect(got == "next")
        }
        #expect(await phone.snapshot().isUp)
      }
    }

    @Test(
      "A phone answers again after bluetoothd was killed in the middle of a reply",
      .enabled(if: Radio.isLab, Radio.labNeeded), .timeLimit(.minutes(5)))
    func bluetoothdKilledInMidReply() async throws {
      try await withCentral(on: Radio.mac) { central in
        try await withPhone(on: Radio.phone) { _ in
          try await central.waitForPhones()
          let asked = Task { try await central.generate(prompt: "200000", maxTokens: nil) }
          try await ContinuousClock().sleep(for: .milliseconds(800))
          try await Radio.fault("bluetoothd", "kill")
          // At once and with the reason, not after the request's limit.
          let error = await #expect(throws: InferenceError.self) {
            try await bounded(.seconds(10), "the failure of the request") { try await asked.value }
          }
          #expect(error?.code == .disconnected)
          try await Radio.fault("bluetoothd", "start")
          let got = try await central.askUntilAnswered("back", within: .seconds(90)).answer.output
          #expect(got == "back")
        }
      }
    }

    @Test(
      "A phone answers again after its adapter was switched off and on",
      .enabled(if: Radio.canSwitchOff, Radio.switchNeeded), .timeLimit(.minutes(5)),
      arguments: [Duration.milliseconds(300), .seconds(2)])
    func thePhonesAdapterIsSwitchedOffAndOn(for time: Duration) async throws {
      try await withCentral(on: Radio.mac) { central in
        try await withPhone(on: Radio.phone) { _ in
          try await central.waitForPhones()
          let switcher = try await Radio.adapter(Radio.phone)
          try await switcher.setPowered(false)
          try await ContinuousClock().sleep(for: time)
          try await switcher.setPowered(true)
          let got = try await central.askUntilAnswered("on again", within: .seconds(60)).answer.output
          #expect(got == "on again")
        }
      }
    }

    @Test(
      "A phone answers again after the controllers were unplugged", .enabled(if: Radio.isLab, Radio.labNeeded),
      .timeLimit(.minutes(5)))
    func theControllersAreUnpluggedAndPluggedInAgain() async throws {
      try await withCentral(on: Radio.mac) { central in
        try await withPhone(on: Radio.phone) { _ in
          try await central.waitForPhones()
          let session = try await Session.open()
          let events = session.events()
          try await Radio.fault("controllers", "kill")
          try await Radio.fault("controllers", "start")
          let got = try await central.askUntilAnswered("plugged", within: .seconds(90)).answer.output
          #expect(got == "plugged")
          try await bounded(.seconds(10), "the adapters' going and coming") {
            var gone: Set<ObjectPath> = []
            var back: Set<ObjectPath> = []
            for await event in events {
              if case .adapterRemoved(let path) = event { gone.insert(path) }
              if case .adapterAdded(let path) = event { back.insert(path) }
              if gone.count >= 2, back.count >= 2 { return }
            }
            throw TestTimeout(phase: "the session ended")
          }
          session.close()
        }
      }
    }
  }
}
