import DeterministicTesting
import Testing

@testable import EdgeCoder

@Suite struct RouterTests {
  private func phone(
    _ id: String, ready: Bool = true, model: String? = "ready", pending: Int = 0, abandoned: Int = 0,
    battery: Int? = nil, rssi: Int? = -50
  ) -> Router.Candidate {
    Router.Candidate(
      id: PhoneID(id), isReady: ready, modelState: model, pending: pending, abandoned: abandoned, batteryPct: battery,
      rssi: rssi)
  }

  private func choose(_ candidates: [Router.Candidate], places: Int = 1) -> Router.Choice {
    // The order in which phones are known must not matter.
    let choices = Set([candidates, candidates.reversed()].map { Router.choose(from: $0, places: places) })
    #expect(choices.count == 1)
    return choices.first ?? .none
  }

  @Test func costsAreThoseOfTheMeshRouter() {
    #expect(Router.cost(phone("a", battery: 100, rssi: -30)) == 0)
    #expect(Router.cost(phone("a", pending: 2, abandoned: 1, battery: 100, rssi: -30)) == 60)
    #expect(Router.cost(phone("a", battery: 10, rssi: -30)) == 45)
    #expect(Router.cost(phone("a", rssi: -70)) == 20)
    #expect(Router.cost(phone("a", rssi: -127)) == 30)
    #expect(Router.cost(phone("a", rssi: 10)) == 0)
    #expect(Router.cost(phone("a", rssi: nil)) == 15)
  }

  @Test func takesTheCheapest() {
    #expect(choose([phone("near", rssi: -40), phone("far", rssi: -80)]) == .phone(PhoneID("near")))
    #expect(choose([phone("full", battery: 90), phone("low", battery: 10)]) == .phone(PhoneID("full")))
    #expect(choose([phone("same2"), phone("same1")]) == .phone(PhoneID("same1")))
    #expect(choose([phone("used", abandoned: 1), phone("fresh", rssi: -60)]) == .phone(PhoneID("fresh")))
    #expect(
      choose([phone("idle", rssi: -40), phone("loaded", pending: 5, rssi: -40)], places: 9) == .phone(PhoneID("idle")))
  }

  @Test func aReadyModelComesBeforeEverything() {
    #expect(
      choose([phone("ready", battery: 5, rssi: -95), phone("unsaid", model: nil), phone("loading", model: "loading")])
        == .phone(PhoneID("ready")))
    #expect(
      choose([phone("unsaid", model: nil, rssi: -95), phone("error", model: "error")]) == .phone(PhoneID("unsaid")))
    #expect(choose([phone("loading", model: "loading")]) == .phone(PhoneID("loading")), "its reply says why not")
  }

  @Test func waitsForThePhoneWithTheModel() {
    #expect(choose([phone("ready", pending: 1), phone("none", model: "notInstalled")]) == .wait)
    #expect(choose([phone("one", pending: 1), phone("two", pending: 1)]) == .wait)
    #expect(choose([phone("one", pending: 1), phone("two", rssi: -99)]) == .phone(PhoneID("two")))
    #expect(choose([phone("one", pending: 1), phone("two", pending: 3)], places: 2) == .phone(PhoneID("one")))
  }

  @Test func withoutAReadyLinkThereIsNone() {
    #expect(choose([]) == .none)
    #expect(choose([phone("a", ready: false), phone("b", ready: false)]) == .none)
    #expect(choose([phone("a", ready: false), phone("b", model: "error", rssi: -99)]) == .phone(PhoneID("b")))
  }
}

@Suite struct RosterTests {
  private func sighting(_ name: String, _ rssi: Int?) -> PhoneScanResult {
    PhoneScanResult(id: PhoneID(name), name: name, rssi: rssi)
  }

  @Test func admitsTheStrongestFirstAndNoMoreThanItHasRoomFor() {
    var roster = PhoneList(phoneLimit: 2, sightingLimit: 10)
    for (name, rssi) in [("a", -80), ("b", nil), ("c", -40), ("d", -60)] as [(String, Int?)] {
      roster.see(sighting(name, rssi))
    }
    #expect(roster.hasCandidates)
    #expect(roster.admit().map(\.name) == ["c", "d"])
    #expect(!roster.hasCandidates && roster.admit().isEmpty)
    roster.forget(PhoneID("c"))
    #expect(roster.admit().map(\.name) == ["a"])
    roster.see(sighting("c", -40))
    #expect(roster.admit().isEmpty)
  }

  @Test func aFullRosterKeepsTheStrongest() {
    var roster = PhoneList(phoneLimit: 1, sightingLimit: 2)
    roster.see(sighting("a", -70))
    #expect(roster.admit().map(\.name) == ["a"])
    roster.see(sighting("b", -80))
    roster.see(sighting("c", -90))
    #expect(Set(roster.sightings.values.map(\.name)) == ["a", "b"])
    roster.see(sighting("d", -40))
    #expect(Set(roster.sightings.values.map(\.name)) == ["a", "d"], "a phone with a link stays")
    #expect(roster.dropped == 2)
  }

  @Test func oneThousandPhonesAreBounded() {
    var roster = PhoneList(phoneLimit: 5, sightingLimit: 64)
    var generator = SeededGenerator(seed: 3)
    for number in 0..<1000 { roster.see(sighting("\(number)", Int.random(in: -100 ... -30, using: &generator))) }
    #expect(roster.sightings.count == 64)
  }
}
