import Testing

@testable import SpeedTest

@Suite("The counters of interfaces") struct InterfaceCountersTests {
  private func text(_ received: UInt64, _ sent: UInt64) -> String {
    """
    Inter-|   Receive                                                |  Transmit
     face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
        lo: 10 1 0 0 0 0 0 0 10 1 0 0 0 0 0 0
    eth0:1:\(received) 4 0 0 0 0 0 0 \(sent) 5 0 0 0 0 0 0
    """
  }

  @Test("The traffic of each direction is the difference over its phase") func directions() {
    var counters = InterfaceCounters()
    let phases: [(SpeedTestPhase, UInt64, UInt64)] = [
      (.connecting, 100, 50), (.downloadPretest, 110, 60), (.latency, 200, 70), (.download, 210, 80),
      (.uploadPretest, 1210, 90), (.upload, 1220, 190), (.finished, 1230, 9190),
    ]
    for (phase, received, sent) in phases { counters.mark(phase, text(received, sent)) }
    #expect(
      counters.traffic(of: "eth0:1")
        == InterfaceTraffic(
          interface: "eth0:1", test: .init(received: 1130, sent: 9140), download: .init(received: 1000, sent: 10),
          upload: .init(received: 10, sent: 9000)))
    #expect(counters.traffic(of: "eth1") == nil)
    #expect(counters.traffic(of: "lo")?.test == .init(received: 0, sent: 0))
  }

  @Test("A test that ends before the upload has none, and counters that fall are unknown") func ends() {
    var counters = InterfaceCounters()
    #expect(counters.traffic(of: "eth0:1") == nil)
    counters.mark(.connecting, text(5, 5))
    counters.mark(.download, text(7, 7))
    counters.mark(.finished, text(9, 10))
    let traffic = counters.traffic(of: "eth0:1")
    #expect(traffic?.download == .init(received: 2, sent: 3))
    #expect(traffic?.upload == nil)
    counters.mark(.finished, text(1, 1))
    #expect(counters.traffic(of: "eth0:1") == nil)
  }

  @Test(
    "Lines of another form are passed over", arguments: ["", "eth0", "eth0: 1 2 3", "eth0: a 0 0 0 0 0 0 0 1", ":"])
  func odd(line: String) {
    #expect(InterfaceCounters.counters(in: line).isEmpty)
  }
}
