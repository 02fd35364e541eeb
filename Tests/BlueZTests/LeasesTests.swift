import Testing

@testable import BlueZ

@Suite("Leases of links") struct LeasesTests {
  @Test("A link that an attempt made is a lease until it ends") func aLink() {
    var leases = Leases()
    let attempt = leases.beginAttempt("/dev_1", .session)
    // Of the link before.
    leases.end("/dev_1")
    leases.endAttempt(attempt, hasLink: true)
    #expect(leases.ending == ["/dev_1"])
    leases.end("/dev_1")
    #expect(!leases.contains("/dev_1"))
  }

  @Test("An attempt that is refused leaves no lease, but for that of another attempt") func aRefusal() {
    var leases = Leases()
    let first = leases.beginAttempt("/dev_1", .session)
    let second = leases.beginAttempt("/dev_1", .session)
    leases.endAttempt(first, hasLink: false)
    #expect(leases.contains("/dev_1"))
    leases.endAttempt(second, hasLink: false)
    #expect(!leases.contains("/dev_1"))
  }

  @Test("A link that an attempt made stays a lease when another one is refused later") func aLateRefusal() {
    var leases = Leases()
    let first = leases.beginAttempt("/dev_1", .session)
    let second = leases.beginAttempt("/dev_1", .session)
    leases.endAttempt(first, hasLink: true)
    leases.endAttempt(second, hasLink: false)
    #expect(leases.contains("/dev_1"))
  }

  @Test("A link that was lost while another attempt was under way is no lease when that is refused") func aLostLink() {
    var leases = Leases()
    let first = leases.beginAttempt("/dev_1", .session)
    let second = leases.beginAttempt("/dev_1", .session)
    leases.endAttempt(first, hasLink: true)
    leases.end("/dev_1")
    leases.endAttempt(second, hasLink: false)
    // Noticed twice.
    leases.endAttempt(first, hasLink: true)
    #expect(!leases.contains("/dev_1"))
  }

  @Test("An attempt of an instance of bluetoothd that has ended does not end that of the next one")
  func aLateEnd() {
    var leases = Leases()
    let early = leases.beginAttempt("/dev_1", .session)
    leases.removeAll()
    let next = leases.beginAttempt("/dev_1", .session)
    leases.endAttempt(early, hasLink: false)
    // The signal that the link of the earlier instance has ended.
    leases.end("/dev_1")
    leases.endAttempt(next, hasLink: true)
    #expect(leases.ending == ["/dev_1"])
  }
}
