import DeterministicTesting
import FoundationEssentials
import SystemTesting
import Testing

@testable import SpeedTest

/// Random input for every parser: nothing traps, memory stays bounded, and errors are typed.
///
/// `EDGEBLUE_FUZZ=10000000` sets the number of inputs for each parser; 20,000 without it.
@Suite(.computing) struct FuzzTests {
  private static let inputs = ProcessInfo.processInfo.environment["EDGEBLUE_FUZZ"].flatMap(Int.init) ?? 20_000

  private static let words = [
    "RMBTv1.3.5", "ACCEPT TOKEN QUIT", "OK", "ERR", "CHUNKSIZE 4096 4096 4194304", "TIME 5", "TIME 5 BYTES 6", "PONG",
    "BYE", "TOKEN t", "GETCHUNKS 1", "GETTIME 1", "PUT", "PUTNORESULT 4096", "PING", "QUIT", "GET / HTTP/1.1",
    "Upgrade: RMBT", "Upgrade: websocket", "Origin: x://y", "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "\u{1}\u{0}", "HTTP/1.1 101 x", "",
    "18446744073709551616", "-1", "\0", "\r", "_#v2#", "\u{ff}",
    "ACCEPT GETCHUNKS GETTIME PUT PUTNORESULT PING QUIT",
  ]

  /// Lines of the protocol, damaged here and there, and random bytes between them.
  private static func input(_ random: inout SeededGenerator) -> [UInt8] {
    var bytes: [UInt8] = []
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      bytes += Array(words.randomElement(using: &random)!.utf8)
      if Bool.random(using: &random) { bytes.append(0x0a) }
    }
    for _ in 0..<Int.random(in: 0...2, using: &random) where !bytes.isEmpty {
      bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
    }
    return bytes
  }

  @Test("The client survives any bytes in any state") func theClient() throws {
    var random = SeededGenerator(seed: 17)
    var connection = try ClientConnection.ready()
    var isOver = false
    for number in 0..<Self.inputs {
      if isOver || number % 50 == 0 {
        connection = Bool.random(using: &random) ? try .ready() : ClientConnection(token: "t", at: .zero)
        isOver = false
      }
      do throws(SpeedTestError) {
        if case .idle = connection.state {
          let exchanges: [Exchange] = [
            .ping, .getChunks(2, size: 4096), .put(seconds: 1, size: 4096), .putNoResult(1, size: 4096),
          ]
          _ = try connection.start(exchanges.randomElement(using: &random)!, at: .zero)
        }
        _ = try connection.receive(Self.input(&random), at: .milliseconds(number))
        _ = connection.nextPayload(at: .seconds(2))
        if connection.skippable > 0 {
          connection.skip(Int.random(in: 0...connection.skippable, using: &random), at: .milliseconds(number))
        }
      } catch {
        isOver = true
        #expect([.invalidReply, .refused].contains(error.code), "\(error)")
      }
    }
  }

  @Test("The server survives any bytes in any state") func theServer() {
    var random = SeededGenerator(seed: 18)
    var connection = ServerConnection.ready()
    for number in 0..<Self.inputs {
      if number % 20 == 0 {
        let fresh: [ServerConnection] = [.ready(), .framed(), ServerConnection(isOpen: true, at: .zero)]
        connection = fresh.randomElement(using: &random)!
      }
      for action in connection.receive(Self.input(&random), at: .milliseconds(number)) {
        if case .verify = action {
          _ = connection.tokenVerified(Bool.random(using: &random) ? .rejected : .accepted(delay: .zero), at: .zero)
        }
      }
      if let payload = connection.nextPayload(at: .milliseconds(number)) {
        #expect(payload.bytes <= RMBT.chunkSizes.upperBound + 65_536)
      }
      if Bool.random(using: &random) { _ = connection.resume(at: .milliseconds(number)) }
      if connection.skippable > 0, Bool.random(using: &random) {
        _ = connection.skip(Int.random(in: 0...connection.skippable, using: &random), at: .milliseconds(number))
      }
    }
  }

  @Test("Tokens of any bytes are rejected") func tokens() throws {
    var random = SeededGenerator(seed: 19)
    let keys = [try SpeedTestKey("topsecret")]
    let good = SpeedTestToken.make(.combined, key: keys[0], uuid: UUID(), seconds: 0, address: [])
    for _ in 0..<Self.inputs / 20 {
      var bytes = Array(good.utf8)
      for _ in 0...3 {
        bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...127, using: &random)
      }
      let token = String(decoding: bytes.prefix(Int.random(in: 0...bytes.count, using: &random)), as: UTF8.self)
      let verdict = SpeedTestToken.verify(token, keys: keys, seconds: 1_700_000_000, address: [])
      #expect(verdict == .rejected)
    }
  }

  @Test("Frames of any bytes make no trap, and no payload from nothing") func frames() {
    var random = SeededGenerator(seed: 21)
    for _ in 0..<Self.inputs / 4 {
      var reader = WebSocketReader()
      var bytes = WebSocketTests.frame(.binary, Self.input(&random)) + WebSocketTests.frame(.ping, [1])
      bytes += (0..<20).map { _ in UInt8.random(in: 0...255, using: &random) }
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      var payload = 0
      bytes.withUnsafeBytes { buffer in
        var offset = 0
        while offset < buffer.count, let piece = try? reader.next(buffer, &offset) {
          if case .payload(let part) = piece { payload += part.count }
        }
      }
      #expect(payload <= bytes.count)
    }
  }

  @Test("Datagrams of any bytes get no reply without a valid token") func datagrams() throws {
    var random = SeededGenerator(seed: 22)
    let responder = PingResponder(keys: [try SpeedTestKey("topsecret")])
    for _ in 0..<Self.inputs / 20 {
      let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      let datagram = Array("RP01".utf8) + bytes
      #expect(responder.answer(to: datagram, from: [], seconds: 1_700_000_000) == .none)
    }
  }

  @Test("Samples of any order and size make no trap") func samples() {
    var random = SeededGenerator(seed: 20)
    for _ in 0..<Self.inputs / 20 {
      let threads = (0..<Int.random(in: 0...4, using: &random)).map { _ in
        (0..<Int.random(in: 0...4, using: &random)).map { _ in
          ThroughputSample(
            nanoseconds: random.next() >> UInt64.random(in: 0...63, using: &random), bytes: random.next())
        }
      }
      #expect(Throughput(threads: threads).map { $0.bitsPerSecond >= 0 } != false)
    }
  }
}
