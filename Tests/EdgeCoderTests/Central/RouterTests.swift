import DeterministicTesting
import Testing

@testable import EdgeCoder

@Suite("The router") struct RouterTests {
  private func phone(
    _ id: String, ready: Bool = true, model: String? = "ready", _ load: Router.Candidate.Load = .init(),
    battery: Int? = nil, rssi: Int? = -50
  ) -> Router.Candidate {
    Router.Candidate(
      id: PhoneID(id), isReady: ready, modelState: model, load: load, batteryPct: battery, rssi: rssi)
  }

  private func choose(_ candidates: [Router.Candidate], slots: Int = 1) -> Router.Choice {
    // The order in which phones are known must not matter.
    let candidates = candidates.map { candidate in
      var candidate = candidate
      candidate.slots = slots
      return candidate
    }
    let choices = Set([candidates, candidates.reversed()].map { Router.choose(from: $0) })
    #expect(choices.count == 1)
    return choices.first ?? .none
  }

  @Test("Costs are those of the mesh router") func costsAreThoseOfTheMeshRouter() {
    #expect(Router.cost(phone("a", battery: 100, rssi: -30)) == 0)
    #expect(Router.cost(phone("a", .init(pending: 2, abandoned: 1), battery: 100, rssi: -30)) == 60)
    #expect(Router.cost(phone("a", battery: 10, rssi: -30)) == 45)
    #expect(Router.cost(phone("a", rssi: -70)) == 20)
    #expect(Router.cost(phone("a", rssi: -127)) == 30)
    #expect(Router.cost(phone("a", rssi: 10)) == 0)
    #expect(Router.cost(phone("a", rssi: nil)) == 15)
  }

  @Test("The phone with the lowest cost is chosen") func takesTheCheapest() {
    #expect(choose([phone("near", rssi: -40), phone("far", rssi: -80)]) == .phone(PhoneID("near")))
    #expect(choose([phone("full", battery: 90), phone("low", battery: 10)]) == .phone(PhoneID("full")))
    #expect(choose([phone("same2"), phone("same1")]) == .phone(PhoneID("same1")))
    #expect(choose([phone("used", .init(abandoned: 1)), phone("fresh", rssi: -60)]) == .phone(PhoneID("fresh")))
    #expect(
      choose([phone("idle", rssi: -40), phone("loaded", .init(pending: 5), rssi: -40)], slots: 9)
        == .phone(PhoneID("idle")))
  }

  @Test("A ready model outweighs all costs") func aReadyModelComesBeforeEverything() {
    #expect(
      choose([phone("ready", battery: 5, rssi: -95), phone("unsaid", model: nil), phone("loading", model: "loading")])
        == .phone(PhoneID("ready")))
    #expect(
      choose([phone("unsaid", model: nil, rssi: -95), phone("error", model: "error")]) == .phone(PhoneID("unsaid")))
    #expect(choose([phone("loading", model: "loading")]) == .phone(PhoneID("loading")), "its reply says why not")
  }

  @Test("Waits for the phone with the model") func waitsForThePhoneWithTheModel() {
    #expect(choose([phone("ready", .init(pending: 1)), phone("none", model: "notInstalled")]) == .wait)
    #expect(choose([phone("one", .init(pending: 1)), phone("two", .init(pending: 1))]) == .wait)
    #expect(choose([phone("one", .init(pending: 1)), phone("two", rssi: -99)]) == .phone(PhoneID("two")))
    #expect(
      choose([phone("one", .init(pending: 1)), phone("two", .init(pending: 3))], slots: 2) == .phone(PhoneID("one")))
  }

  @Test("A phone without a request comes before one with a free slot") func idlePhonesFirst() {
    let busy = phone("near", .init(pending: 1), battery: 100, rssi: -30)
    #expect(choose([busy, phone("far", battery: 5, rssi: -99)], slots: 4) == .phone(PhoneID("far")))
    #expect(choose([busy, phone("far", model: "loading")], slots: 4) == .phone(PhoneID("near")))
  }

  @Test("Without a ready phone there is no choice") func withoutAReadyLinkThereIsNone() {
    #expect(choose([]) == .none)
    #expect(choose([phone("a", ready: false), phone("b", ready: false)]) == .none)
    #expect(choose([phone("a", ready: false), phone("b", model: "error", rssi: -99)]) == .phone(PhoneID("b")))
  }
}

@Suite("The roster of phones") struct RosterTests {
  private func found(_ name: String, _ rssi: Int?) -> PhoneScanResult {
    PhoneScanResult(id: PhoneID(name), name: name, rssi: rssi)
  }

  @Test("The strongest phones are admitted first, within the limit")
  func admitsTheStrongestFirstAndNoMoreThanItHasRoomFor() {
    var list = PhoneList(phoneLimit: 2, capacity: 10)
    for (name, rssi) in [("a", -80), ("b", nil), ("c", -40), ("d", -60)] as [(String, Int?)] {
      list.add(found(name, rssi))
    }
    #expect(list.hasCandidates)
    #expect(list.admit().map(\.name) == ["c", "d"])
    #expect(!list.hasCandidates)
    #expect(list.admit().isEmpty)
    list.remove(PhoneID("c"))
    #expect(list.admit().map(\.name) == ["a"])
    list.add(found("c", -40))
    #expect(list.admit().isEmpty)
  }

  @Test("A full phone list keeps the strongest phones") func aFullRosterKeepsTheStrongest() {
    var list = PhoneList(phoneLimit: 1, capacity: 2)
    list.add(found("a", -70))
    #expect(list.admit().map(\.name) == ["a"])
    list.add(found("b", -80))
    list.add(found("c", -90))
    #expect(Set(list.results.values.map(\.name)) == ["a", "b"])
    list.add(found("d", -40))
    #expect(Set(list.results.values.map(\.name)) == ["a", "d"], "a phone with a link stays")
    #expect(list.dropped == 2)
  }

  @Test("One thousand phones are bounded") func oneThousandPhonesAreBounded() {
    var list = PhoneList(phoneLimit: 5, capacity: 64)
    var generator = SeededGenerator(seed: 3)
    for number in 0..<1000 { list.add(found("\(number)", Int.random(in: -100 ... -30, using: &generator))) }
    #expect(list.results.count == 64)
  }
}
