import JSONValues
import NetworkPath
import Testing

@testable import edgeblue

@Suite("The command path") struct PathTests {
  private var wired: PathSnapshot {
    let gateway = PathSnapshot.Gateway(address: IPAddress("192.0.2.1"), family: .v4, interface: "eth0")
    return PathSnapshot(
      status: .satisfied,
      interfaces: [
        PathInterface(index: 2, name: "eth0", kind: .ethernet, addresses: [IPAddress("192.0.2.2")!]),
        PathInterface(index: 3, name: "wlan0", kind: .wifi, link: .noCarrier),
      ], gateways: [gateway], dnsServers: [IPAddress("192.0.2.53")!])
  }

  @Test("The path is printed in lines") func forPeople() {
    #expect(
      wired.lines == [
        "The default route uses eth0 (ethernet).", "",
        "IPv4          via 192.0.2.1 on eth0", "IPv6          no default route", "Name servers  192.0.2.53",
        "Cost          not metered (estimated from the interface type)", "",
        "INTERFACE  KIND      LINK        ADDRESSES",
        "eth0       ethernet  up          192.0.2.2", "wlan0      wifi      no carrier  -",
      ])
    #expect(
      PathSnapshot(status: .unsatisfied, unsatisfiedReason: .noCarrier).headline
        == "No default route: no network interface has a carrier (no cable, no radio network).")
    #expect(
      PathSnapshot(status: .requiresConnection, unsatisfiedReason: .waiting(interface: "wwan0")).headline
        == "No default route yet: wwan0 is not connected yet.")
  }

  @Test("A path update is printed as JSON") func forPrograms() {
    let update = PathUpdate(number: 3, path: wired, changes: [.link(interface: "eth0", from: .down, to: .up)])
    #expect(
      JSONValue.object(update.json).line == """
        {"changes":["eth0 is up"],"dnsServers":["192.0.2.53"],\
        "gateways":[{"address":"192.0.2.1","family":"IPv4","interface":"eth0"}],"hintSource":"interfaceKind",\
        "interfaces":[{"addresses":["192.0.2.2"],"index":2,"isTethered":false,"kind":"ethernet","link":"up","name":"eth0"},\
        {"addresses":[],"index":3,"isTethered":false,"kind":"wifi","link":"noCarrier","name":"wlan0"}],\
        "ipv4":true,"ipv6":false,"isConstrained":false,"isExpensive":false,"number":3,"obstacle":null,\
        "reachability":null,"status":"satisfied"}
        """)
  }
}
