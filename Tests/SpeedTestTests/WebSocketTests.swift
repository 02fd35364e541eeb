import Testing

@testable import SpeedTest

@Suite struct WebSocketTests {
  /// The request of a browser, with the key of RFC 6455 §1.3.
  static func handshake(origin: String? = nil, version: String = "13") -> String {
    "GET /rmbt HTTP/1.1\r\nHost: speed.example:5231\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n"
      + (origin.map { "Origin: \($0)\r\n" } ?? "") + "Sec-WebSocket-Version: \(version)\r\n"
      + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
  }

  /// The frame of a browser, with a mask.
  static func frame(
    _ opcode: WebSocket.Opcode, _ payload: [UInt8], isLast: Bool = true, mask: [UInt8] = [0x37, 0xfa, 0x21, 0x3d]
  ) -> [UInt8] {
    var head = WebSocket.header(opcode, count: payload.count)
    if !isLast { head[0] &= 0x7f }
    head[1] |= 0x80
    return head + mask + payload.enumerated().map { $1 ^ mask[$0 & 3] }
  }

  static func frame(_ opcode: WebSocket.Opcode, _ text: String) -> [UInt8] { frame(opcode, Array(text.utf8)) }

  private func read(_ pieces: [[UInt8]]) throws(SpeedTestError) -> [WebSocketReader.Piece] {
    var reader = WebSocketReader()
    var read: [WebSocketReader.Piece] = []
    var failure: SpeedTestError?
    for bytes in pieces {
      bytes.withUnsafeBytes { buffer in
        var offset = 0
        do throws(SpeedTestError) {
          while let piece = try reader.next(buffer, &offset) { read.append(piece) }
        } catch {
          failure = error
        }
      }
      if let failure { throw failure }
    }
    return read
  }

  @Test("A browser's handshake is answered, and the greeting is a frame for each line") func theHandshake() {
    var connection = ServerConnection(at: .zero)
    let actions = connection.receive(Self.handshake())
    let response =
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
      + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
    #expect(actions == [.respond(response), .send("RMBTv1.6.0\nACCEPT TOKEN QUIT\n")])
    #expect(connection.isFramed)
    let frames = WebSocket.frames(ofLines: "OK\nPONG\n")
    #expect(frames == [0x81, 3] + Array("OK\n".utf8) + [0x81, 5] + Array("PONG\n".utf8))
    #expect(connection.receive(Self.frame(.text, "TOKEN t\n")) == [.verify("t")])
  }

  @Test("A handshake of another version is refused") func anotherVersion() throws {
    var connection = ServerConnection(at: .zero)
    let actions = connection.receive(Self.handshake(version: "8"))
    #expect("\(try #require(actions.first))".contains("HTTP/1.1 400 Bad Request"))
    #expect(actions.last == .close)
  }

  @Test(
    "An open server measures for its own page alone, one with keys for any page",
    arguments: [
      (nil, true, true), ("http://speed.example:5231", true, true), ("https://Speed.Example:5231", true, true),
      ("https://evil.example", true, false), ("null", true, false), ("http://speed.example", true, false),
      ("https://evil.example", false, true),
    ] as [(String?, Bool, Bool)])
  func origins(origin: String?, isOpen: Bool, isAdmitted: Bool) {
    var connection = ServerConnection(isOpen: isOpen, at: .zero)
    _ = connection.receive(Self.handshake(origin: origin))
    #expect(connection.isFramed == isAdmitted)
  }

  @Test("The page contains no key and asks for one where it is needed", arguments: [true, false])
  func thePage(needsKey: Bool) {
    let response = BrowserPage.response(needsKey: needsKey)
    #expect(response.contains("<label id=\"keyField\" hidden>") == !needsKey)
    #expect(response.contains("default-src 'none'; script-src 'sha256-"))
    #expect(response.utf8.count < 32_768)
  }

  @Test("The masked example of RFC 6455 is read, also in pieces") func theExample() throws {
    let bytes: [UInt8] = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58]
    #expect(try read([bytes]) == [.payload(Array("Hello".utf8))])
    let pieces = try read(bytes.map { [$0] })
    #expect(pieces == "Hello".utf8.map { .payload([$0]) })
  }

  @Test("Payload of any length and any split keeps its bytes", arguments: [0, 1, 7, 8, 125, 126, 4096, 65_535, 65_536])
  func lengths(count: Int) throws {
    let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let bytes = Self.frame(.binary, payload) + Self.frame(.text, "OK\n")
    for split in [1, 3, 9, 17, 4099] {
      let pieces = stride(from: 0, to: bytes.count, by: split).map { Array(bytes[$0..<min($0 + split, bytes.count)]) }
      let read = try read(pieces).flatMap { piece in if case .payload(let part) = piece { part } else { [UInt8]() } }
      #expect(read == payload + Array("OK\n".utf8), "\(split)")
    }
  }

  @Test("Control frames are read between the parts of a message") func controlFrames() throws {
    let bytes =
      Self.frame(.text, Array("PI".utf8), isLast: false) + Self.frame(.ping, "a") + Self.frame(.pong, "b")
      + Self.frame(.continuation, "NG\n") + Self.frame(.ping, "") + Self.frame(.close, [3, 0xe8])
    #expect(
      try read([bytes]) == [
        .payload(Array("PI".utf8)), .ping(Array("a".utf8)), .payload(Array("NG\n".utf8)), .ping([]), .close,
      ])
  }

  @Test(
    "Frames against the rules are refused",
    arguments: [
      [0x81, 0x05], [0xc1, 0x80], [0x83, 0x80], [0x09, 0x80], [0x80, 0x80], [0x89, 0xfe],
      [0x82, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4],
    ] as [[UInt8]])
  func againstTheRules(bytes: [UInt8]) {
    #expect(throws: SpeedTestError.self) { try read([bytes]) }
    var connection = ServerConnection.framed()
    #expect(connection.receive(bytes) == [.send("ERR\n"), .close])
    #expect(connection.receive(Self.frame(.text, "PING\n")).isEmpty)
  }

  @Test("A browser measures as other clients do: chunks in frames of any size, pings, and its close is answered")
  func commands() {
    var connection = ServerConnection.framed()
    #expect(connection.receive(Self.frame(.text, "PUTNORESULT\n")) == [.send("OK\n")])
    let upload = chunks(3, of: 4096)
    #expect(connection.receive(Self.frame(.binary, Array(upload.prefix(5000)))).isEmpty)
    let end = connection.receive(Self.frame(.binary, Array(upload.dropFirst(5000))), at: .nanoseconds(8))
    #expect(end == [.send("TIME 8\n"), .send(accept)])
    #expect(connection.receive(Self.frame(.ping, "x")) == [.pong(Array("x".utf8))])
    #expect(connection.receive(Self.frame(.text, "GETCHUNKS 1\n") + Self.frame(.text, "OK\n")) == [.startPayload])
    #expect(connection.nextPayload(at: .zero) == Payload(size: 4096, count: 0, endsWithLast: true))
    #expect(connection.resume(at: .zero) == [.send("TIME 0\n"), .send(accept)])
    #expect(connection.receive(Self.frame(.close, [3, 0xe8])) == [.close])
    #expect(connection.deadline == nil)
  }
}
