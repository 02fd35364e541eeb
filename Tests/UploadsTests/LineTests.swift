import Testing

@testable import Uploads

@Suite("The line to a server") struct LineTests {
  private func line(_ bytesPerSecond: Int64, seconds: Int, roundTrip: Duration? = .milliseconds(20)) -> Line {
    var line = Line()
    if let roundTrip { line.add(roundTrip: roundTrip) }
    for step in 0...(seconds * 4) {
      line.add(Int64(step) * bytesPerSecond / 4, at: .milliseconds(step * 250))
    }
    return line
  }

  @Test("A line is slow after ten seconds below 256 KiB/s", arguments: [(64 << 10, 2), (10 << 20, 4)])
  func slowLinesAreKnown(_ bytesPerSecond: Int64, _ requests: Int) {
    #expect(line(bytesPerSecond, seconds: 9).requests(usual: 4) == 4)
    #expect(line(bytesPerSecond, seconds: 11).requests(usual: 4) == requests)
    #expect(line(bytesPerSecond, seconds: 3000).requests(usual: 4) == requests)
  }

  @Test(
    "The longer the latency of a slow line, the more requests keep it busy",
    arguments: [
      (Duration.milliseconds(50), 2), (.milliseconds(600), 3), (.seconds(1), 4), (.seconds(2), 8), (.seconds(9), 8),
    ])
  func latencyNeedsRequests(_ latency: Duration, _ requests: Int) {
    #expect(line(64 << 10, seconds: 11, roundTrip: latency).requests(usual: 4) == requests)
  }

  @Test("The number of requests is within twice the usual one, and stays while the latency is unknown")
  func requestsAreBounded() {
    #expect(line(64 << 10, seconds: 11, roundTrip: .seconds(2)).requests(usual: 1) == 2)
    #expect(line(64 << 10, seconds: 11, roundTrip: .seconds(2)).requests(usual: 3) == 6)
    #expect(line(64 << 10, seconds: 11, roundTrip: nil).requests(usual: 3) == 3)
  }

  @Test("A slow line that becomes slower has no fewer requests: too few may be the reason")
  func theHighestSpeedCounts() {
    var line = line(64 << 10, seconds: 11, roundTrip: .seconds(1))
    let sent: Int64 = 11 * 64 << 10
    for second in 1...30 { line.add(sent + Int64(second) * 16 << 10, at: .seconds(11 + second)) }
    #expect(line.requests(usual: 4) == 4)
  }

  @Test(
    "A line whose speed is not known yet has more requests where the latency is long",
    arguments: [(Duration.milliseconds(20), 4), (.milliseconds(300), 5), (.seconds(2), 8)])
  func latencyIsKnownFirst(_ latency: Duration, _ requests: Int) {
    #expect(line(64 << 10, seconds: 5, roundTrip: latency).requests(usual: 4) == requests)
  }

  @Test("The shortest round trip is the latency") func theShortestCounts() {
    var line = line(64 << 10, seconds: 11, roundTrip: .seconds(1))
    line.add(roundTrip: .seconds(5))
    #expect(line.requests(usual: 4) == 4)
  }

  @Test("A pause tells nothing about a line") func pausesDoNotCount() {
    var line = line(10 << 20, seconds: 20)
    line.add(200 << 20, at: .seconds(3600))
    line.add(210 << 20, at: .seconds(3601))
    #expect(line.requests(usual: 4) == 4)
  }
}
