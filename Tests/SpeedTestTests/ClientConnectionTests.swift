import Testing

@testable import SpeedTest

@Suite struct ClientConnectionTests {
  @Test(
    "A greeting is understood with a NUL before it, carriage returns, more fields, and in pieces",
    arguments: [
      "RMBTv1.3.5\nACCEPT TOKEN QUIT\n", "\0RMBTv1.3.5\nACCEPT TOKEN QUIT\n",
      "RMBTv1.3.5\r\nACCEPT TOKEN QUIT\r\n", "RMBTv1.3.5\nACCEPT TOKEN QUIT AND MORE\n",
    ])
  func theGreeting(text: String) throws {
    var connection = ClientConnection(token: "secret", at: .zero)
    var actions: [ClientConnection.Action] = []
    for byte in text.utf8 { actions += try connection.receive([byte]) }
    #expect(actions == [.send("TOKEN secret\n")])
    #expect(connection.serverVersion == "1.3.5")
    let limits = RMBT.ChunkLimits(standard: 4096, allowed: 4096...4_194_304)
    #expect(try connection.receive("OK\nCHUNKSIZE 4096 4096 4194304\n" + accept) == [.ready(limits)])
  }

  @Test("A server that announces only one chunk size gets no other") func oneChunkSize() throws {
    var connection = ClientConnection(token: "t", at: .zero)
    _ = try connection.receive("RMBTv0.3\nACCEPT TOKEN QUIT\n")
    let limits = RMBT.ChunkLimits(standard: 4096, allowed: 4096...4096)
    #expect(try connection.receive("OK\nCHUNKSIZE 4096\n" + accept) == [.ready(limits)])
  }

  @Test("The HTTP variant sends its request first and skips the header of the answer") func theUpgrade() throws {
    var connection = ClientConnection(token: "t", upgrades: true, at: .zero)
    #expect(connection.opening.hasPrefix("GET /rmbt HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: RMBT\r\n"))
    let header = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: RMBT\r\n\r\n"
    #expect(try connection.receive(header + "\0RMBTv1.6.0\nACCEPT TOKEN QUIT\n") == [.send("TOKEN t\n")])
  }

  @Test("A refused upgrade is an error", arguments: ["HTTP/1.1 426 Upgrade Required\r\n", "RMBTv1.3.5\n"])
  func noUpgrade(answer: String) {
    var connection = ClientConnection(token: "t", upgrades: true, at: .zero)
    #expect(throws: SpeedTestError.self) { try connection.receive(answer) }
  }

  @Test("A token that is not accepted has the code refused, whether the server says so or closes")
  func aRefusedToken() throws {
    var connection = ClientConnection(token: "t", at: .zero)
    _ = try connection.receive("RMBTv1.3.5\nACCEPT TOKEN QUIT\n")
    #expect(connection.closedError.code == .refused)
    let error = #expect(throws: SpeedTestError.self) { try connection.receive("ERR\n") }
    #expect(error?.code == .refused)
  }

  @Test("Payload that is dropped before a marker counts as received", arguments: [1, 100, 5000])
  func aDownloadThatIsDropped(most: Int) throws {
    var connection = try ClientConnection.ready()
    #expect(connection.skippable == 0)
    _ = try connection.start(.getTime(seconds: 1, size: 5001), at: .zero)
    // The first bytes may be those of ERR.
    #expect(connection.skippable == 0)
    let bytes = chunks(3, of: 5001)
    var actions = try connection.receive([bytes[0]], at: .milliseconds(1))
    var position = 1
    while position < bytes.count {
      #expect(connection.skippable == 5000 - position % 5001)
      let count = min(connection.skippable, most)
      connection.skip(count, at: .milliseconds(20 + position))
      position += count
      guard connection.skippable == 0 else { continue }
      actions += try connection.receive([bytes[position]], at: .milliseconds(20 + position))
      position += 1
    }
    #expect(actions == [.send("OK\n")])
    #expect(connection.transferred == UInt64(bytes.count))
    let end = try report(try connection.receive("TIME 5\n" + accept, at: .seconds(60)))
    #expect(end.samples.first?.nanoseconds == 1_000_000)
    #expect(end.samples.last?.bytes == UInt64(bytes.count))
    #expect(connection.skippable == 0)
  }

  @Test("A download is confirmed after its last chunk, and over after ACCEPT", arguments: [1, 7, 4096, 100_000])
  func aDownload(piece: Int) throws {
    var connection = try ClientConnection.ready()
    #expect(try connection.start(.getChunks(3, size: 5001), at: .zero) == [.send("GETCHUNKS 3 5001\n")])
    let bytes = chunks(3, of: 5001)
    var actions: [ClientConnection.Action] = []
    for start in stride(from: 0, to: bytes.count, by: piece) {
      actions += try connection.receive(Array(bytes[start..<min(start + piece, bytes.count)]), at: .seconds(2))
    }
    #expect(actions == [.send("OK\n")])
    let report = try report(connection.receive("TIME 1500\n" + accept, at: .seconds(9)))
    #expect(report.bytes == 15_003)
    #expect(report.clientTime == .seconds(2))
    #expect(report.serverTime == 1500)
    #expect(connection.deadline == nil)
  }

  @Test("ERR in the place of payload is recognised, also in pieces") func errIsRecognised() throws {
    var connection = try ClientConnection.ready()
    _ = try connection.start(.getChunks(8, size: 4096), at: .zero)
    var error: SpeedTestError?
    for byte in ("ERR\n" + accept).utf8 where error == nil {
      do throws(SpeedTestError) { _ = try connection.receive([byte]) } catch let caught { error = caught }
    }
    #expect(error?.code == .refused)
  }

  @Test("Payload that begins like ERR is payload") func payloadLikeErr() throws {
    var connection = try ClientConnection.ready()
    _ = try connection.start(.getChunks(1, size: 4096), at: .zero)
    var bytes = chunks(1, of: 4096)
    bytes.replaceSubrange(0..<6, with: Array("ERR\nAC".utf8))
    var actions = try connection.receive(Array(bytes[..<5]))
    actions += try connection.receive(Array(bytes[5...]))
    #expect(actions == [.send("OK\n")])
  }

  @Test("Chunks that are too few, too many or wrongly marked are an error", arguments: [1, 2, 3])
  func wrongChunks(fault: Int) throws {
    var connection = try ClientConnection.ready()
    _ = try connection.start(.getChunks(2, size: 4096), at: .zero)
    let bytes = [chunks(1, of: 4096), chunks(2, of: 4096, last: 0), chunks(2, of: 4096, last: 7)][fault - 1]
    let error = #expect(throws: SpeedTestError.self) { try connection.receive(bytes) }
    #expect(error?.code == .invalidReply)
  }

  @Test("A ping measures to the PONG, and is over after ACCEPT") func aPing() throws {
    var connection = try ClientConnection.ready()
    #expect(try connection.start(.ping, at: .zero) == [.send("PING\n")])
    #expect(try connection.receive("PONG\n", at: .milliseconds(5)) == [.send("OK\n")])
    #expect(try connection.receive("TIME 4900000\n", at: .milliseconds(9)).isEmpty)
    #expect(throws: SpeedTestError.self, "a second command has to wait") {
      try connection.start(.ping, at: .zero)
    }
    let report = try report(connection.receive(accept))
    #expect(report.clientTime == .milliseconds(5))
    #expect(report.serverTime == 4_900_000)
  }

  @Test("Lines that do not belong there are errors", arguments: ["PONG\n", "TIME x\n", "HELLO\n", "\u{1}\n"])
  func wrongLines(line: String) throws {
    var connection = ClientConnection(token: "t", at: .zero)
    #expect(throws: SpeedTestError.self) { try connection.receive(line) }
  }

  @Test("A line without an end is an error after 1024 bytes") func anEndlessLine() throws {
    var connection = ClientConnection(token: "t", at: .zero)
    _ = try connection.receive(String(repeating: "R", count: 1024))
    #expect(throws: SpeedTestError.self) { try connection.receive("R") }
  }

  @Test("The step that takes too long is named", arguments: [0, 1, 2])
  func theStepIsNamed(place: Int) throws {
    var connection = ClientConnection(token: "t", at: .zero)
    if place > 0 { _ = try connection.receive("RMBTv1.3.5\nACCEPT TOKEN QUIT\n") }
    if place > 1 {
      connection = try .ready()
      _ = try connection.start(.ping, at: .zero)
    }
    #expect(try connection.timeOut(at: .seconds(1)).isEmpty)
    let error = #expect(throws: SpeedTestError.self) { try connection.timeOut(at: .seconds(60)) }
    #expect(error?.code == .timedOut)
    #expect(error?.message.hasSuffix(["greeting", "authorisation", "PING, PONG"][place]) == true)
  }
}
