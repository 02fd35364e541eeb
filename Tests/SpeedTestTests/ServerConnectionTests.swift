import Testing

@testable import SpeedTest

@Suite struct ServerConnectionTests {
  private let greeting = "RMBTv1.6.0\nACCEPT TOKEN QUIT\n"

  @Test("A client that is silent gets the greeting") func silence() {
    var connection = ServerConnection(at: .zero)
    #expect(connection.timeOut(at: .milliseconds(100)).isEmpty)
    #expect(connection.timeOut(at: .milliseconds(300)) == [.send(greeting)])
  }

  @Test("A client that sends an HTTP request gets the upgrade first, also in pieces") func theUpgrade() {
    var connection = ServerConnection(at: .zero)
    let request = "GET /rmbt HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: RMBT\r\nRMBT-Version: 1.2.0@\r\n\r\n\n"
    var actions: [ServerConnection.Action] = []
    for byte in request.utf8 { actions += connection.receive([byte]) }
    let answer = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: RMBT\r\n\r\n"
    #expect(actions == [.respond(answer), .send(greeting)])
    #expect(connection.receive("TOKEN t\n") == [.verify("t")])
  }

  @Test(
    "An HTTP request without an upgrade gets a status and is closed",
    arguments: [
      ("GET / HTTP/1.1", "200"), ("GET /?x HTTP/1.1", "200"), ("GET /rmbt HTTP/1.1", "426"), ("GET ", "426"),
      ("POST / HTTP/1.1", "405"), ("X", "405"),
    ])
  func noUpgrade(request: String, status: String) throws {
    var connection = ServerConnection(at: .zero)
    let actions = connection.receive("\(request)\r\nHost: x\r\n\r\n")
    guard case .respond(let response) = try #require(actions.first) else { return #expect(Bool(false), "\(actions)") }
    #expect(response.hasPrefix("HTTP/1.1 \(status) "))
    #expect(actions.last == .close)
  }

  @Test("An endless HTTP header is refused") func anEndlessHeader() {
    var connection = ServerConnection(at: .zero)
    let line = "X: \(String(repeating: "x", count: 900))\r\n"
    let actions = connection.receive("GET / HTTP/1.1\r\n" + String(repeating: line, count: 20))
    #expect(actions.last == .close)
  }

  @Test("An accepted token is followed by the chunk sizes and the commands") func aToken() {
    var connection = ServerConnection(at: .zero)
    #expect(connection.receive("TOKEN a_b\n") == [.send(greeting), .verify("a_b")])
    #expect(!connection.isAuthorised)
    let answer = "OK\nCHUNKSIZE 4096 4096 4194304\n" + accept
    #expect(connection.tokenVerified(.accepted(delay: .zero), at: .zero) == [.send(answer)])
    #expect(connection.isAuthorised)
  }

  @Test("An early token waits until it is valid") func anEarlyToken() {
    var connection = ServerConnection(at: .zero)
    _ = connection.receive("TOKEN t\n")
    #expect(connection.tokenVerified(.accepted(delay: .seconds(3)), at: .zero).isEmpty)
    #expect(connection.timeOut(at: .seconds(2)).isEmpty)
    #expect(connection.timeOut(at: .seconds(3)).count == 1)
    #expect(connection.isAuthorised)
  }

  @Test("A rejected token is answered by ERR and closed") func aRejectedToken() {
    var connection = ServerConnection(at: .zero)
    _ = connection.receive("TOKEN t\n")
    #expect(connection.tokenVerified(.rejected, at: .zero) == [.send("ERR\n"), .close])
  }

  @Test(
    "What is out of range or unknown is answered by ERR and the commands",
    arguments: [
      "GETCHUNKS 0", "GETCHUNKS 300001", "GETCHUNKS", "GETCHUNKS x", "GETCHUNKS 1 4095", "GETTIME 31", "GETTIME 0",
      "PUT 4194305", "PUTNORESULT 1", "ping", "OK", "TOKEN t", "GETCHUNKS 1 4096 1", "",
    ])
  func refusals(line: String) {
    var connection = ServerConnection.ready()
    #expect(connection.receive(line + "\n") == [.send("ERR\n"), .send(accept)])
    #expect(connection.receive("PING\n") == [.send("PONG\n")])
  }

  @Test("A chunk size holds until another one is selected") func stickySizes() {
    var connection = ServerConnection.ready()
    for (command, size) in [("GETCHUNKS 1 5001", 5001), ("GETCHUNKS 1", 5001), ("GETCHUNKS 1 4096", 4096)] {
      #expect(connection.receive(command + "\n") == [.startPayload])
      #expect(connection.nextPayload(at: .zero) == Payload(size: size, count: 0, endsWithLast: true))
      #expect(connection.nextPayload(at: .zero) == nil)
      #expect(connection.receive("OK\n", at: .nanoseconds(77)) == [.send("TIME 77\n"), .send(accept)])
    }
    #expect(connection.receive("PUT\n") == [.send("OK\n")])
  }

  @Test(
    "No more than one chunk or 64 KiB is sent at a time, the last chunk included",
    arguments: [
      (1, 4_194_304, [(0, true)]), (2, 4_194_304, [(1, false), (0, true)]), (16, 4096, [(15, true)]),
      (17, 4096, [(16, false), (0, true)]), (18, 4096, [(16, false), (1, true)]),
    ])
  func batches(_ count: Int, _ size: Int, _ batches: [(count: Int, endsWithLast: Bool)]) {
    var connection = ServerConnection.ready()
    #expect(connection.receive("GETCHUNKS \(count) \(size)\n") == [.startPayload])
    for batch in batches {
      #expect(
        connection.nextPayload(at: .zero) == Payload(size: size, count: batch.count, endsWithLast: batch.endsWithLast))
    }
    #expect(connection.nextPayload(at: .zero) == nil)
  }

  @Test("A timed download sends until its time has passed") func aTimedDownload() {
    var connection = ServerConnection.ready()
    #expect(connection.receive("GETTIME 2 65536\n", at: .seconds(1)) == [.startPayload])
    #expect(connection.nextPayload(at: .seconds(2)) == Payload(size: 65_536, count: 1, endsWithLast: false))
    #expect(connection.nextPayload(at: .seconds(3)) == Payload(size: 65_536, count: 0, endsWithLast: true))
  }

  @Test("An upload is reported at once, then every millisecond, and at its end") func reports() {
    var connection = ServerConnection.ready()
    _ = connection.receive("PUT\n")
    #expect(connection.receive([UInt8](repeating: 9, count: 100), at: .nanoseconds(5)) == [.send("TIME 5 BYTES 100\n")])
    #expect(connection.receive([UInt8](repeating: 9, count: 3995), at: .nanoseconds(900)).isEmpty)
    let last = connection.receive([0] + chunks(1, of: 4096), at: .milliseconds(2))
    #expect(last == [.send("TIME 2000000 BYTES 8192\nTIME 2000000\n"), .send(accept)])
  }

  @Test("Payload that is dropped before a marker is reported as received") func dropped() {
    var connection = ServerConnection.ready()
    _ = connection.receive("PUT 5000\n")
    #expect(connection.skippable == 4999)
    #expect(connection.skip(4000, at: .milliseconds(1)) == [.send("TIME 1000000 BYTES 4000\n")])
    #expect(connection.skip(900, at: .milliseconds(1)).isEmpty)
    #expect(connection.skippable == 99)
    #expect(connection.skip(99, at: .milliseconds(3), isWritable: false).isEmpty)
    #expect(connection.skippable == 0)
    let end = connection.receive([0xff], at: .milliseconds(4))
    #expect(end == [.send("TIME 4000000 BYTES 5000\nTIME 4000000\n"), .send(accept)])
    #expect(connection.skippable == 0)
  }

  @Test("Payload in the frames of a WebSocket is not dropped") func framedPayload() {
    var connection = ServerConnection.framed()
    _ = connection.receive(WebSocketTests.frame(.text, "PUT 5000\n"))
    #expect(connection.skippable == 0)
  }

  @Test("An upload without reports has the final time alone") func noReports() {
    var connection = ServerConnection.ready()
    _ = connection.receive("PUTNORESULT\n")
    #expect(connection.receive(chunks(3, of: 4096), at: .nanoseconds(8)) == [.send("TIME 8\n"), .send(accept)])
  }

  @Test("A chunk with a wrong marker closes the connection") func aWrongMarker() {
    var connection = ServerConnection.ready()
    _ = connection.receive("PUT\n")
    #expect(connection.receive(chunks(1, of: 4096, last: 3)) == [.send("ERR\n"), .close])
  }

  @Test("A wrong answer to PONG is refused") func aWrongAnswer() {
    var connection = ServerConnection.ready()
    _ = connection.receive("PING\n")
    #expect(connection.receive("WHAT\n") == [.send("ERR\n"), .send(accept)])
  }

  @Test("A confirmation that arrives before the last chunk is sent is kept, and too much is refused")
  func pipelining() {
    var connection = ServerConnection.ready()
    #expect(connection.receive("GETCHUNKS 1\nOK\nPING\n") == [.startPayload])
    _ = connection.nextPayload(at: .zero)
    #expect(connection.resume(at: .zero) == [.send("TIME 0\n"), .send(accept), .send("PONG\n")])
    connection = .ready()
    _ = connection.receive("GETTIME 9\n")
    #expect(connection.receive(String(repeating: "x", count: 4097)) == [.send("ERR\n"), .close])
  }

  @Test("QUIT is answered and ends the connection, before and after the token") func quit() {
    var connection = ServerConnection.ready()
    #expect(connection.receive("QUIT\n") == [.send("BYE\n"), .close])
    #expect(connection.receive("PING\n").isEmpty)
    connection = ServerConnection(at: .zero)
    #expect(connection.receive("QUIT\n") == [.send(greeting), .send("BYE\n"), .close])
  }

  @Test("Every state has a deadline, after which the connection is closed") func deadlines() {
    let states: [(line: String?, seconds: Int)] = [
      ("TOKEN t\n", 10), (nil, 30), ("PING\n", 30), ("GETCHUNKS 5\n", 60), ("GETTIME 3\n", 63), ("PUT\n", 60),
    ]
    for (line, seconds) in states {
      var connection = seconds == 10 ? ServerConnection(at: .zero) : .ready()
      if let line { _ = connection.receive(line) }
      #expect(connection.deadline == .seconds(seconds), "\(line ?? "none")")
      #expect(connection.timeOut(at: .seconds(100)) == [.close])
      #expect(connection.deadline == nil)
    }
  }
}
