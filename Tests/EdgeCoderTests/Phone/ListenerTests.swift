import Testing

@testable import EdgeCoder

/// Centrals that only listen, where bluetoothd has one socket for all and names none of them.
@Suite("Listeners that a phone does not know") struct ListenerTests {
  private static let one = PeerID("one")
  private static let two = PeerID("two")

  private func machine() -> PhoneMachine {
    PhoneMachine(configuration: PhoneConfiguration(), addressesSinglePeer: false)
  }

  @Test("A value for all fits the smallest MTU, and that of a silent peer beside another is the smallest there is")
  func theSmallestMTU() {
    var machine = machine()
    _ = machine.handle(.connected(Self.one), at: .zero)
    _ = machine.handle(.mtu(Self.one, 517), at: .zero)
    #expect(machine.mtu(for: nil) == 517)
    _ = machine.handle(.connected(Self.two), at: .zero)
    #expect(machine.mtu(for: nil) == 23)
    _ = machine.handle(.mtu(Self.two, 185), at: .zero)
    #expect(machine.mtu(for: nil) == 185)
    _ = machine.handle(.disconnected(Self.two), at: .zero)
    #expect(machine.mtu(for: nil) == 517)
  }

  @Test("The status is pushed while a peer that connected a moment ago may subscribe") func theStatus() {
    var machine = machine()
    _ = machine.handle(.connected(Self.one), at: .seconds(100))
    #expect(machine.expire(at: .seconds(105)).contains(.pushStatus))
    #expect(!machine.expire(at: .seconds(116)).contains(.pushStatus))
    var newer = PhoneMachine(configuration: PhoneConfiguration(), addressesSinglePeer: true)
    _ = newer.handle(.connected(Self.one), at: .seconds(100))
    #expect(!newer.expire(at: .seconds(105)).contains(.pushStatus))
  }
}
