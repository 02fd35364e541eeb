import CNetlink
import DeterministicTesting
import Glibc
import SystemTesting
import Testing

@testable import NetworkPath

@Suite("The parser of netlink messages", .computing) struct ParseTests {
  @Test("A link is parsed with its name, kind and hardware address") func aLink() {
    let info = Wire.attribute(IFLA_LINKINFO, Wire.attribute(IFLA_INFO_KIND, Wire.text("veth")))
    let bytes = Wire.link(
      RTM_NEWLINK, index: 7, flags: 0x11043, hardware: 1,
      Wire.attribute(IFLA_IFNAME, Wire.text("eth0")) + Wire.attribute(IFLA_OPERSTATE, [6])
        + Wire.attribute(IFLA_ADDRESS, [2, 0, 0, 0, 0, 1]) + info)
    var link = NetworkLink(index: 7, name: "eth0", flags: 0x11043, operationalState: 6, hardware: 1)
    link.virtualKind = "veth"
    link.hardwareAddress = [2, 0, 0, 0, 0, 1]
    #expect(Wire.read(bytes) == [.link(link)])
    #expect(link.state == .up)
    #expect(link.kind == .ethernet)
  }

  @Test("A message about the port of a bridge is ignored") func aPortOfABridgeIsNoLink() {
    let name = Wire.attribute(IFLA_IFNAME, Wire.text("eth0"))
    #expect(Wire.read(Wire.link(RTM_DELLINK, index: 7, family: 7, name)) == [.unrelated])
    #expect(Wire.read(Wire.link(RTM_DELLINK, index: 7, name)) == [.linkGone(index: 7)])
    #expect(Wire.read(Wire.link(RTM_NEWLINK, index: 7, [])) == [.unrelated])
  }

  @Test("The address of a point-to-point link is the local one") func theAddressOfAPointToPointLinkIsOurs() {
    let own: [UInt8] = [192, 0, 2, 1]
    let peer: [UInt8] = [192, 0, 2, 9]
    let header = Wire.bytes(
      ifaddrmsg(ifa_family: UInt8(AF_INET), ifa_prefixlen: 32, ifa_flags: 0, ifa_scope: 0, ifa_index: 3))
    let bytes = Wire.message(
      RTM_NEWADDR,
      header + Wire.attribute(IFA_ADDRESS, peer) + Wire.attribute(IFA_LOCAL, own)
        + Wire.attribute(IFA_FLAGS, Wire.bytes(UInt32(0x80))))
    let key = NetworkAddress.Key(link: 3, address: IPAddress(bytes: own)!, prefixLength: 32)
    #expect(Wire.read(bytes) == [.address(NetworkAddress(key: key, scope: 0, flags: 0x80))])
  }

  @Test("Only default routes of the main table are parsed") func defaultRoutesAndNoOthers() {
    let gateway = Wire.attribute(Int(RTA_GATEWAY.rawValue), [192, 0, 2, 1])
    let link = Wire.attribute(Int(RTA_OIF.rawValue), Wire.bytes(Int32(4)))
    let metric = Wire.attribute(Int(RTA_PRIORITY.rawValue), Wire.bytes(UInt32(100)))
    let route = Say.route(4, via: "192.0.2.1", metric: 100)
    let all = gateway + link + metric
    #expect(Wire.read(Wire.route(RTM_NEWROUTE, all)) == [.routes([route], replaces: false)])
    #expect(
      Wire.read(Wire.route(RTM_NEWROUTE, all, flags: UInt16(NLM_F_REPLACE))) == [.routes([route], replaces: true)])
    #expect(Wire.read(Wire.route(RTM_DELROUTE, all)) == [.routesGone([route])])
    #expect(Wire.read(Wire.route(RTM_NEWROUTE, all, prefix: 24)) == [.unrelated])
    let table = Wire.attribute(Int(RTA_TABLE.rawValue), Wire.bytes(UInt32(100)))
    #expect(Wire.read(Wire.route(RTM_NEWROUTE, all + table)) == [.choiceMayChange])
    var refusing = Say.route(0, metric: 100)
    refusing.refuses = true
    #expect(
      Wire.read(Wire.route(RTM_NEWROUTE, metric, type: RTN_UNREACHABLE)) == [.routes([refusing], replaces: false)])
  }

  @Test("A multipath route has all next hops, dead ones and those of the other family included")
  func severalNextHopsOneOfThemDeadAndOneOfTheOtherProtocol() {
    func hop(_ link: Int32, flags: UInt8, _ attributes: [UInt8]) -> [UInt8] {
      let header = rtnexthop(
        rtnh_len: UInt16(8 + attributes.count), rtnh_flags: flags, rtnh_hops: 0, rtnh_ifindex: link)
      return Wire.bytes(header) + attributes
    }
    let via = Wire.attribute(Int(RTA_VIA.rawValue), Wire.bytes(UInt16(AF_INET6)) + IPAddress("fe80::1")!.bytes)
    let hops =
      hop(4, flags: UInt8(RTNH_F_DEAD), Wire.attribute(Int(RTA_GATEWAY.rawValue), [192, 0, 2, 1]))
      + hop(5, flags: 0, via)
    let bytes = Wire.route(
      RTM_NEWROUTE,
      Wire.attribute(Int(RTA_MULTIPATH.rawValue), hops)
        + Wire.attribute(Int(RTA_PRIORITY.rawValue), Wire.bytes(UInt32(9))))
    var dead = Say.route(4, via: "192.0.2.1", metric: 9)
    dead.isDead = true
    #expect(Wire.read(bytes) == [.routes([dead, Say.route(5, via: "fe80::1", metric: 9)], replaces: false)])
  }

  @Test("The end of a dump and errors carry the error number") func theEndOfADumpAndRefusals() {
    #expect(Wire.read(Wire.message(Int(NLMSG_DONE), Wire.bytes(Int32(0)))) == [.done(errno: 0)])
    #expect(Wire.read(Wire.message(Int(NLMSG_ERROR), Wire.bytes(-EPERM))) == [.refused(errno: EPERM)])
    #expect(Wire.read(Wire.message(Int(NLMSG_ERROR), Wire.bytes(Int32.min))) == [.refused(errno: Int32.max)])
    #expect(Wire.read(Wire.message(Int(NLMSG_DONE), [])) == [.done(errno: 0)])
  }

  /// Cut anywhere: what is left is read as far as it goes, and nothing beyond.
  @Test("Truncated messages are parsed up to the cut") func truncated() {
    let name = Wire.attribute(IFLA_IFNAME, Wire.text("eth0"))
    let whole = Wire.link(RTM_DELLINK, index: 7, name) + Wire.route(RTM_NEWROUTE, [])
    for count in 0...whole.count {
      let messages = Wire.read(Array(whole[..<count]))
      #expect(
        messages.count == (count == whole.count ? 2 : count >= Wire.link(RTM_DELLINK, index: 7, name).count ? 1 : 0))
    }
  }

  /// Whatever comes: it is read to its end, and neither traps nor hangs. Run with the address sanitizer, too.
  @Test("Random bytes are parsed without a trap") func garbage() throws {
    var random = SeededGenerator(seed: 0x5eed)
    let name = Wire.attribute(IFLA_IFNAME, Wire.text("eth0"))
    let gateway = Wire.attribute(Int(RTA_GATEWAY.rawValue), [192, 0, 2, 1])
    let hops = Wire.attribute(
      Int(RTA_MULTIPATH.rawValue),
      Wire.bytes(rtnexthop(rtnh_len: 16, rtnh_flags: 0, rtnh_hops: 0, rtnh_ifindex: 3)) + gateway)
    let seeds = [
      Wire.link(RTM_NEWLINK, index: 7, name), Wire.route(RTM_NEWROUTE, gateway + hops),
      Wire.message(
        RTM_NEWADDR,
        Wire.bytes(ifaddrmsg(ifa_family: UInt8(AF_INET), ifa_prefixlen: 8, ifa_flags: 0, ifa_scope: 0, ifa_index: 1))
          + Wire.attribute(IFA_LOCAL, [1, 2, 3, 4])),
      Wire.message(Int(NLMSG_DONE), Wire.bytes(Int32(0))),
    ]
    var related = 0
    for round in 0..<30_000 {
      var bytes = seeds.shuffled(using: &random).prefix(Int.random(in: 1...4, using: &random)).flatMap { $0 }
      for _ in 0..<Int.random(in: 0...6, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: .min ... .max, using: &random)
      }
      if round % 3 == 0 { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random)) }
      if round % 100 == 0 { bytes = bytes.map { _ in UInt8.random(in: .min ... .max, using: &random) } }
      let messages = Wire.read(bytes)
      related += messages.count { $0 != .unrelated }
      // And what was understood makes some path, whatever it is.
      _ = PathTables(messages).snapshot()
    }
    #expect(related > 10_000)
  }
}
