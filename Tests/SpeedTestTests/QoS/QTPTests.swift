import Testing

@testable import SpeedTest

/// The connection to a QoS server.
@Suite("Connections to QoS servers") struct QTPTests {
  private static let opening = "QoSSP0.1\nACCEPT [TOKEN string]\n"
  private static let accepted = "OK\nACCEPT [GET UDPPORT] [QUIT]\n"

  @Test(
    "A connection is greeted, authorised and ready, in pieces of any size",
    arguments: [1, 2, 7, 1000])
  func opening(size: Int) throws {
    var connection = QTPConnection(token: "a_1_b=")
    var actions: [QTPConnection.Action] = []
    let bytes = Array((Self.opening + Self.accepted + "OK +ID7\r\nRCV 4 0 {\"0\":5} +ID12\n").utf8)
    for start in stride(from: 0, to: bytes.count, by: size) {
      actions += try connection.receive(bytes[start..<min(start + size, bytes.count)])
    }
    #expect(
      actions == [
        .send("TOKEN a_1_b="), .ready, .reply(7, "OK"), .reply(12, "RCV 4 0 {\"0\":5}"),
      ])
  }

  @Test("A server that closes behind the token has refused it") func refused() throws {
    var connection = QTPConnection(token: "t")
    #expect(connection.closedError.code == .connectionClosed)
    _ = try connection.receive(Self.opening.utf8)
    #expect(connection.closedError.code == .refused)
    #expect(throws: SpeedTestError.self) { try connection.receive("ERR\n".utf8) }
    var later = QTPConnection(token: "t")
    _ = try later.receive((Self.opening + Self.accepted).utf8)
    #expect(later.closedError.code == .connectionClosed)
  }

  @Test("Lines that belong to no command are ignored, and others are errors") func strangeLines()
    throws
  {
    var connection = QTPConnection(token: "t")
    #expect(throws: SpeedTestError.self) { try connection.receive("SSH-2.0\n".utf8) }
    connection = QTPConnection(token: "t")
    #expect(throws: SpeedTestError.self) {
      try connection.receive([UInt8](repeating: 0x51, count: QTPConnection.lineLimit + 1))
    }
    connection = QTPConnection(token: "t")
    _ = try connection.receive((Self.opening + Self.accepted).utf8)
    #expect(try connection.receive("ACCEPT\n\n +ID\nOK +IDx\n+ID3\n".utf8) == [.reply(3, "")])
  }

  @Test("The result of a run is read, and another reply is an error") func results() throws {
    let result = try QTPReceived("RCV 4 1 {\"0\":364000,\"1\":\"690000\",\"2\":-1}")
    #expect(result.count == 4)
    #expect(result.duplicates == 1)
    #expect(result.roundTrips == [364_000, 690_000])
    #expect(try QTPReceived("RCV 0 0 {}").roundTrips.isEmpty)
    #expect(try QTPReceived("RCV 2 0").count == 2)
    for text in ["", "RCV", "RCV 1", "RCV -1 0 {}", "RCV a 0", "OK"] {
      #expect(throws: SpeedTestError.self) { try QTPReceived(text) }
    }
  }
}
