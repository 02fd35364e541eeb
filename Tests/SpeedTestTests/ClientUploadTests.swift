import Testing

@testable import SpeedTest

@Suite struct ClientUploadTests {
  /// A connection in an upload of 2 s that has sent its last chunk, and the bytes it sent.
  private func uploaded() throws -> (connection: ClientConnection, sent: Int) {
    var connection = try ClientConnection.ready()
    #expect(try connection.start(.put(seconds: 2, size: 65_536), at: .zero) == [.send("PUT 65536\n")])
    let early = connection.nextPayload(at: .zero)
    #expect(early == nil, "nothing is sent before OK")
    #expect(try connection.receive("OK\n", at: .seconds(1)) == [.startPayload])
    var sent = 0
    for second in [1, 2, 3] {
      let next = connection.nextPayload(at: .seconds(second))
      let payload = try #require(next)
      #expect(payload.endsWithLast == (second == 3))
      sent += payload.bytes
    }
    let late = connection.nextPayload(at: .seconds(3))
    #expect(late == nil)
    return (connection, sent)
  }

  @Test("An upload ends with the server's time for all that was sent") func theFinalTime() throws {
    var (connection, sent) = try uploaded()
    _ = try connection.receive("TIME 1000000000 BYTES 65536\nTIME 2000000000\n", at: .seconds(3))
    let report = try report(connection.receive(accept, at: .seconds(3)))
    #expect(
      report.samples == [
        ThroughputSample(nanoseconds: 1_000_000_000, bytes: 65_536),
        ThroughputSample(nanoseconds: 2_000_000_000, bytes: UInt64(sent)),
      ])
    #expect(report.start == .seconds(1))
    #expect(report.isComplete)
  }

  @Test(
    "Reports that run backwards, count too much or lie about the time are an error",
    arguments: [
      "TIME 2000000 BYTES 70000\nTIME 1000000 BYTES 80000\n", "TIME 1 BYTES 70000\nTIME 2 BYTES 60000\n",
      "TIME 1000000 BYTES 999999999999\n", "TIME 1\nACCEPT\n" + "TIME 9\n", "TIME 99000000000\n",
      "TIME 18446744073709551615 BYTES 1\n", "TIME 99999999999999999999 BYTES 1\n", "TIME -1 BYTES 1\n",
    ])
  func dishonestReports(lines: String) throws {
    var connection = try uploaded().connection
    let error = #expect(throws: SpeedTestError.self) { try connection.receive(lines, at: .seconds(3)) }
    #expect(error?.code == .invalidReply)
  }

  @Test("An upload that the server ends too early is an error") func tooEarly() throws {
    var connection = try ClientConnection.ready()
    _ = try connection.start(.put(seconds: 2, size: 4096), at: .zero)
    _ = try connection.receive("OK\n")
    #expect(throws: SpeedTestError.self) { try connection.receive("TIME 5\n") }
  }

  @Test("An upload whose final time never arrives counts as far as its reports cover it") func cutOff() throws {
    var connection = try uploaded().connection
    _ = try connection.receive("TIME 1500000000 BYTES 100000\n", at: .seconds(3))
    let report = try report(connection.timeOut(at: .seconds(6)))
    #expect(!report.isComplete)
    #expect(report.bytes == 100_000)
  }

  @Test("An upload whose reports stop early is an error at its deadline") func silence() throws {
    var connection = try uploaded().connection
    _ = try connection.receive("TIME 900000000 BYTES 100000\n", at: .seconds(3))
    let error = #expect(throws: SpeedTestError.self) { try connection.timeOut(at: .seconds(6)) }
    #expect(error?.code == .timedOut)
  }

  @Test("A pretest upload sends its number of chunks, the last one marked") func aNumberOfChunks() throws {
    var connection = try ClientConnection.ready()
    _ = try connection.start(.putNoResult(20, size: 4096), at: .zero)
    _ = try connection.receive("OK\n")
    var payloads: [Payload] = []
    while let payload = connection.nextPayload(at: .zero) { payloads.append(payload) }
    #expect(
      payloads == [.init(size: 4096, count: 16, endsWithLast: false), .init(size: 4096, count: 3, endsWithLast: true)])
    #expect(try connection.receive("TIME 7\n" + accept, at: .zero).count == 1)
  }

  @Test("A refused upload names its command") func refused() throws {
    var connection = try ClientConnection.ready()
    _ = try connection.start(.put(seconds: 1, size: 4096), at: .zero)
    let error = #expect(throws: SpeedTestError.self) { try connection.receive("ERR\n" + accept) }
    #expect(error?.message.contains("PUT 4096") == true)
  }

  @Test("A download that never ends counts as far as it covers its duration") func anEndlessDownload() throws {
    for (last, isEnough) in [(Duration.milliseconds(1100), true), (.milliseconds(900), false)] {
      var connection = try ClientConnection.ready()
      _ = try connection.start(.getTime(seconds: 2, size: 4096), at: .zero)
      _ = try connection.receive(chunks(1, of: 4096, last: 0), at: .milliseconds(500))
      _ = try connection.receive(chunks(1, of: 4096, last: 0), at: last)
      if isEnough {
        #expect(try connection.timeOut(at: .seconds(12)).count == 1)
        #expect(try connection.receive(chunks(1, of: 4096, last: 7)).isEmpty, "later payload is ignored")
      } else {
        #expect(throws: SpeedTestError.self) { try connection.timeOut(at: .seconds(12)) }
      }
    }
  }
}
