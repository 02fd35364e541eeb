import Testing

@testable import Coverage

/// The numbers are those of the acceptance cases of the facts about coverage clients.
@Suite("The fences of a run") struct FenceMachineTests {
  @Test("94, 95, 97: A fence is entered at the first location, and left at its own radius") func leaving() {
    var walk = FenceDriver()
    #expect(walk.machine.active == nil)
    walk.walk(to: 0, at: 1, accuracy: 10)
    #expect(walk.machine.active?.radius == 30)
    walk.walk(to: 29.9, at: 2)
    #expect(walk.machine.count == 1)
    walk.walk(to: 30.01, at: 3, accuracy: 2)
    #expect(walk.machine.count == 2)
    #expect(walk.fences.map(\.exited) == [.seconds(3)])
    // The radius of the second one is 15 m.
    walk.walk(to: 45.1, at: 4)
    #expect(walk.machine.count == 3)
  }

  @Test("99, 106, 107: Pings go to the fence of their time, late ones too") func latePings() throws {
    var walk = FenceDriver()
    walk.walk(to: 0, at: 0)
    walk.ping(due: 0.1, 10)
    walk.ping(due: 0.2, 20)
    walk.walk(to: 50, at: 1)
    walk.ping(due: 0.9, 60, at: 1.5)
    walk.ping(due: 1.6, 100)
    walk.take(.tick, at: 3)
    let first = try #require(walk.fences.first)
    #expect(first.pings.mean == 30)
    #expect(walk.machine.active?.pings.mean == 100)
    // A ping at the very instant of the change belongs to neither.
    walk.ping(due: 1, 5, at: 3)
    #expect(walk.machine.active?.pings.answered == 1)
  }

  @Test("113–115: Bad locations create no fence, and pings meanwhile are dropped") func badLocations() {
    var walk = FenceDriver()
    walk.walk(to: 0, at: 0)
    walk.walk(to: 500, at: 1, accuracy: 16)
    walk.walk(to: 900, at: 2, accuracy: nil)
    #expect(walk.machine.count == 1)
    walk.ping(due: 1.5, 10)
    walk.ping(due: 1, 11, at: 2.1)
    #expect(walk.machine.active?.pings.answered == 1)
    walk.walk(to: 500, at: 3)
    walk.ping(due: 2.9, 12, at: 3.2)
    walk.ping(due: 3.1, 13, at: 3.2)
    #expect(walk.machine.count == 2)
    #expect(walk.machine.active?.pings.mean == 13)
    walk.take(.locationLost, at: 4)
    walk.ping(due: 4.5, 14)
    #expect(walk.machine.active?.pings.answered == 1)
  }

  @Test("The technology is the one that was recorded last") func technology() {
    var walk = FenceDriver()
    walk.walk(to: 0, at: 0)
    walk.take(.technology(.nr), at: 1)
    #expect(walk.machine.active?.technology == .lte)
    walk.walk(to: 1, at: 2)
    #expect(walk.machine.active?.technology == .nr)
    walk.take(.technology(.gsm), at: 3)
    walk.walk(to: 100, at: 4)
    #expect(walk.fences.first?.technology == .nr)
    #expect(walk.machine.active?.technology == .gsm)
  }

  @Test("133–136, 143, 145: Fences before the first grant belong to its session") func firstGrant() {
    var walk = FenceDriver()
    walk.walk(to: 0, at: 0)
    walk.walk(to: 50, at: 1)
    #expect(walk.owners == [nil])
    walk.take(.session("a"), at: 2)
    #expect(walk.machine.active != nil)
    walk.take(.stop, at: 3)
    #expect(walk.owners == ["a", "a"])
    #expect(walk.fences.last?.exited == .seconds(3))
    #expect(walk.actions.last == .finalise)
  }

  @Test("137, 144, 146, 189–191: A later grant closes the fence in the old session, and stores it once")
  func laterGrants() {
    var walk = FenceDriver()
    walk.take(.session("a"), at: 0)
    walk.walk(to: 0, at: 1)
    walk.take(.session("b"), at: 2)
    #expect(walk.machine.active == nil)
    #expect(walk.fences.map(\.exited) == [.seconds(2)])
    walk.walk(to: 0, at: 3)
    walk.take(.stop, at: 4)
    #expect(walk.owners == ["a", "b"])
    #expect(walk.actions.count { if case .add = $0 { true } else { false } } == 2)
    #expect(walk.actions.count { $0 == .begin("b") } == 1)
  }

  @Test("147, 192: Grants in quick succession keep the owners of their fences") func quickGrants() {
    var walk = FenceDriver()
    walk.take(.session("1"), at: 0)
    walk.walk(to: 0, at: 1)
    walk.walk(to: 100, at: 2)
    walk.take(.session("2"), at: 3)
    walk.take(.session("3"), at: 3)
    walk.walk(to: 200, at: 4)
    walk.walk(to: 300, at: 5)
    walk.take(.stop, at: 6)
    #expect(walk.owners == ["1", "1", "3", "3"])
  }

  @Test("A granted identifier that is the same moves the anchor alone") func sameGrant() {
    var walk = FenceDriver()
    walk.walk(to: 0, at: 0)
    walk.take(.session("a"), at: 1)
    walk.take(.session("a"), at: 2)
    #expect(walk.machine.active != nil)
    #expect(walk.sessions == ["a"])
  }

  @Test("168, 169, 177, 181–184, 196: Wi-Fi makes the fence dirty, which is not stored; then a clean one begins")
  func wifi() {
    var walk = FenceDriver()
    walk.walk(to: 0, at: 0)
    walk.take(.network(.wifi), at: 1)
    walk.walk(to: 100, at: 2)
    walk.take(.network(.cellular), at: 3)
    walk.walk(to: 101, at: 4)
    walk.take(.network(.wifi), at: 5)
    walk.take(.network(.unknown), at: 6)
    walk.walk(to: 102, at: 7)
    walk.walk(to: 300, at: 8)
    walk.take(.stop, at: 9)
    #expect(walk.fences.map(\.entered) == [.seconds(7), .seconds(8)])
    #expect(walk.fences.allSatisfy { !$0.isDirty })
  }

  @Test("A fence that was stored while it was active is removed when it becomes dirty") func storedAndDirty() {
    var walk = FenceDriver()
    walk.walk(to: 0, at: 0)
    walk.ping(due: 5, 20)
    walk.take(.tick, at: 10)
    #expect(walk.fences.map(\.exited) == [nil])
    #expect(walk.fences.first?.pings.answered == 1)
    walk.take(.network(.wifi), at: 11)
    #expect(walk.fences.isEmpty)
    walk.take(.stop, at: 30)
    #expect(walk.fences.isEmpty)
  }

  @Test("187, 193–195, 197: Dirty fences are not stored at a grant, and later ones are clean or not by their network")
  func wifiAndGrants() {
    var walk = FenceDriver()
    walk.take(.session("a"), at: 0)
    walk.walk(to: 0, at: 1)
    walk.take(.network(.wifi), at: 2)
    walk.take(.session("b"), at: 3)
    walk.walk(to: 10, at: 4)
    #expect(walk.machine.active?.isDirty == true)
    walk.take(.network(.cellular), at: 5)
    walk.walk(to: 10, at: 6)
    walk.take(.session("c"), at: 7)
    walk.walk(to: 20, at: 8)
    walk.take(.network(.wifi), at: 9)
    walk.take(.stop, at: 10)
    #expect(walk.owners == ["b"])
  }

  @Test("176: A network of an unknown kind counts as the mobile one") func unknownNetwork() {
    var walk = FenceDriver(.unknown, .unknown)
    walk.walk(to: 0, at: 0)
    walk.take(.network(.cellular), at: 1)
    walk.take(.network(.none), at: 2)
    walk.take(.stop, at: 3)
    #expect(walk.fences.count == 1)
  }

  @Test("156–163, 167–174: Warnings of imprecise locations come after 3 s, those of Wi-Fi at once") func warnings() {
    var walk = FenceDriver()
    walk.walk(to: 0, at: 1, accuracy: 50)
    #expect(walk.machine.warnings(at: .seconds(2)).isEmpty)
    #expect(walk.machine.warnings(at: .seconds(3)) == [.imprecise])
    walk.take(.network(.wifi), at: 4)
    #expect(walk.machine.warnings(at: .seconds(4)) == [.imprecise, .wifi])
    walk.walk(to: 0, at: 5)
    #expect(walk.machine.warnings(at: .seconds(5)) == [.wifi])
    walk.take(.network(.cellular), at: 6)
    walk.walk(to: 0, at: 7, accuracy: 50)
    #expect(walk.machine.warnings(at: .seconds(7)) == [.imprecise])
    walk.take(.stop, at: 8)
    #expect(walk.machine.warnings(at: .seconds(9)).isEmpty)
    #expect(FenceDriver(.wifi).machine.warnings(at: .zero) == [.wifi])
    #expect(FenceDriver().machine.warnings(at: .seconds(60)).isEmpty)
  }

  @Test("164–166, 175: A run without a precise location ends after 30 min; one that had any does not") func patience() {
    for network in [CoverageNetwork.cellular, .wifi] {
      var walk = FenceDriver(network)
      walk.walk(to: 0, at: 10, accuracy: 40)
      walk.take(.tick, at: 1799)
      #expect(!walk.actions.contains(.giveUp))
      #expect(walk.machine.nextInstant == .seconds(1800))
      walk.take(.tick, at: 1800)
      walk.take(.tick, at: 1801)
      #expect(walk.actions.count { $0 == .giveUp } == 1)
    }
    var walk = FenceDriver()
    walk.walk(to: 0, at: 1799)
    walk.walk(to: 0, at: 1799.5, accuracy: 40)
    walk.take(.tick, at: 9000)
    #expect(!walk.actions.contains(.giveUp))
  }

  @Test("The end comes once, and nothing after it counts") func theEnd() {
    var walk = FenceDriver()
    walk.walk(to: 0, at: 0)
    walk.take(.stop, at: 1)
    let count = walk.actions.count
    walk.walk(to: 100, at: 2)
    walk.take(.session("a"), at: 3)
    walk.take(.stop, at: 4)
    #expect(walk.actions.count == count)
    #expect(walk.machine.nextInstant == nil)
  }
}
