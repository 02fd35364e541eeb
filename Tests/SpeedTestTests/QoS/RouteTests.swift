import Testing

@testable import SpeedTest

/// Routes, and what the kernel notes about their datagrams.
@Suite("Routes") struct RouteTests {
  /// A message of ICMP from an IPv4 address.
  private static func message(_ type: UInt8, _ code: UInt8, from last: UInt8) -> [UInt8] {
    let error: [UInt8] = [113, 0, 0, 0, 2, type, code, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    let address: [UInt8] = [2, 0, 0, 0, 192, 0, 2, last]
    return error + address + [UInt8](repeating: 0, count: 8)
  }

  private static func answer(_ type: UInt8, _ code: UInt8, from last: UInt8) throws
    -> TracerouteRoute.Answer
  {
    .message(try #require(SocketErrorMessage(message(type, code, from: last))), nanoseconds: 5)
  }

  @Test("A route grows hop by hop until the host answers") func reached() throws {
    var route = TracerouteRoute(limit: 30)
    #expect(route.nextTimeToLive == 1)
    route.handle(try Self.answer(11, 0, from: 1))
    route.handle(.silence(nanoseconds: 2_000_000_000))
    #expect(route.nextTimeToLive == 3)
    route.handle(try Self.answer(3, 3, from: 9))
    #expect(route.end == .reached)
    #expect(route.nextTimeToLive == nil)
    route.handle(try Self.answer(11, 0, from: 1))
    #expect(
      route.hops.map { TracerouteRoute.text($0.address, isMasked: false) } == [
        "192.0.2.1", "*", "192.0.2.9",
      ])
    #expect(
      route.hops.map { TracerouteRoute.text($0.address, isMasked: true) } == [
        "192.0.2.x", "*", "192.0.2.x",
      ])
  }

  @Test("A route ends at its largest number of hops, and where a router says so") func ends() throws {
    var far = TracerouteRoute(limit: 2)
    far.handle(try Self.answer(11, 0, from: 1))
    far.handle(try Self.answer(11, 0, from: 2))
    #expect(far.end == .tooFar)
    var unreachable = TracerouteRoute(limit: 2)
    unreachable.handle(try Self.answer(3, 1, from: 1))
    #expect(unreachable.end == .unreachable)
    #expect(TracerouteRoute(limit: -5).nextTimeToLive == 1)
  }

  @Test("Addresses of IPv6 are masked behind the network") func masks() {
    let address: [UInt8] = [0x20, 1, 0xd, 0xb8, 0, 1, 0, 2, 9, 9, 9, 9, 9, 9, 9, 9]
    #expect(TracerouteRoute.text(address, isMasked: false) == "2001:db8:1:2:909:909:909:909")
    #expect(TracerouteRoute.text(address, isMasked: true) == "2001:db8:1:2::x")
  }

  @Test("The error is found among the control messages") func controlMessages() throws {
    func control(_ level: UInt8, _ type: UInt8, _ data: [UInt8]) -> [UInt8] {
      let padding = [UInt8](repeating: 0, count: (8 - data.count % 8) % 8)
      let head: [UInt8] = [UInt8(data.count + 16), 0, 0, 0, 0, 0, 0, 0, level, 0, 0, 0, type, 0, 0, 0]
      return head + data + padding
    }
    let error = Self.message(11, 0, from: 7)
    let found = try #require(
      SocketErrorMessage(control: control(1, 29, [1, 2, 3]) + control(0, 11, error)))
    #expect(found.cause == .timeExceeded)
    #expect(found.offender == [192, 0, 2, 7])
    #expect(SocketErrorMessage(control: control(1, 29, [1])) == nil)
    #expect(SocketErrorMessage(control: control(0, 11, Array(error.prefix(15)))) == nil)
    #expect(SocketErrorMessage(control: []) == nil)
    var ipv6: [UInt8] = [113, 0, 0, 0, 3, 3, 0, 0]
    ipv6 += [UInt8](repeating: 0, count: 8)
    ipv6 += [10, 0, 0, 0, 0, 0, 0, 0]
    ipv6 += (1...16).map { UInt8($0) }
    #expect(SocketErrorMessage(ipv6)?.offender == Array(1...16))
  }
}
