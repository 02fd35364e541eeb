import Testing

@testable import SpeedTest

/// Runs of datagrams.
@Suite("Datagrams of QoS tests") struct DatagramTests {
  private static let uuid = "8723358c-2037-4029-a70c-91e5d9d35cf3"

  @Test("A datagram has the form of the protocol, and its echo has its payload") func forms() {
    let bytes = QoSDatagram.make(9, uuid: Self.uuid, milliseconds: 1_700_000_000_123)
    #expect(bytes.prefix(2) == [3, 9])
    #expect(String(decoding: bytes[2..<38], as: UTF8.self) == Self.uuid)
    #expect(String(decoding: bytes[38...], as: UTF8.self) == "1700000000123")
    #expect(QoSDatagram.echo(bytes) == [2] + bytes[1...])
    #expect(QoSDatagram.sequence(ofRequest: bytes) == 9)
    #expect(QoSDatagram.sequence(ofRequest: QoSDatagram.echo(bytes)) == nil)
    #expect(QoSDatagram.sequence(ofRequest: [3, 1]) == nil)
    #expect(QoSDatagram.sequence(ofRequest: []) == nil)
  }

  @Test("A duplicate is counted and ends no run, and strange datagrams are ignored")
  func duplicates() {
    var tally = DatagramTally()
    let sent = (0..<3).map { QoSDatagram.make(UInt8($0), uuid: Self.uuid, milliseconds: Int64($0)) }
    for datagram in sent { tally.sent(datagram, at: .zero) }
    tally.receive(QoSDatagram.echo(sent[1]), at: .milliseconds(1))
    tally.receive(QoSDatagram.echo(sent[1]), at: .milliseconds(2))
    tally.receive(QoSDatagram.echo(sent[1]), at: .milliseconds(3))
    tally.receive(sent[0], at: .milliseconds(3))
    tally.receive([2, 0], at: .milliseconds(3))
    tally.receive([], at: .milliseconds(3))
    #expect(tally.echoes.count == 1)
    #expect(tally.duplicates == 2)
    #expect(!tally.isComplete(of: 3))
    tally.receive(QoSDatagram.echo(sent[0]), at: .milliseconds(4))
    tally.receive(QoSDatagram.echo(sent[2]), at: .milliseconds(4))
    #expect(tally.isComplete(of: 3))
  }

  /// Echoes at times in milliseconds, of datagrams that were sent every 20 ms.
  private static func echoes(_ arrivals: [(sequence: Int, ms: Int)]) -> [DatagramTally.Echo] {
    arrivals.map {
      .init(
        sequence: $0.sequence, sent: .milliseconds($0.sequence * 20), received: .milliseconds($0.ms)
      )
    }
  }

  @Test("An even stream has no jitter, and each late datagram adds a sixteenth of its delay")
  func jitter() {
    let even = CallQuality(Self.echoes([(0, 5), (1, 25), (2, 45)]), sent: 3)
    #expect(even.meanJitter == 0)
    #expect(even.loss == 0)
    #expect(even.maxDelta == 20_000_000)
    #expect(even.longestRun == 3)
    #expect(even.isTolerable)
    let late = CallQuality(Self.echoes([(0, 5), (1, 41), (2, 45)]), sent: 4)
    // 16 ms late, then 16 ms early: 1 ms, and 1 + 15/16 ms.
    #expect(late.maxJitter == 1_937_500)
    #expect(late.meanJitter == 1_468_750)
    #expect(late.loss == 0.25)
    #expect(late.skew == 0)
    #expect(!late.isTolerable)
  }

  @Test("Gaps and swapped datagrams are seen") func order() {
    let quality = CallQuality(Self.echoes([(0, 0), (1, 20), (4, 80), (3, 81), (5, 100)]), sent: 6)
    #expect(quality.sequenceErrors == 1)
    #expect(quality.longestRun == 2)
    #expect(quality.shortestRun == 1)
    let none = CallQuality([], sent: 6)
    #expect(none.loss == 1)
    #expect(none.shortestRun == 0)
    #expect(!none.isTolerable)
    #expect(CallQuality([], sent: 0).loss == 1)
  }
}
