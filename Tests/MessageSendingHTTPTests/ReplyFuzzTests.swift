import DeterministicTesting
import Foundation
import MessageSending
import Testing

@testable import MessageSendingHTTP

/// Replies that no server means, over real sockets.
@Suite("Replies that nobody meant", .timeLimit(.minutes(600))) struct ReplyFuzzTests {
  /// Each reply needs a connection: `EDGEBLUE_FUZZ_REPLIES=100000` tries so many.
  private static let count = ProcessInfo.processInfo.environment["EDGEBLUE_FUZZ_REPLIES"].flatMap { Int($0) } ?? 60

  private static let good = [
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nServer: x\r\n\r\n{}", "HTTP/1.1 204 No Content\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n",
  ]

  private static func changed(_ random: inout SeededGenerator) -> [UInt8] {
    var bytes = Array((good.randomElement(using: &random) ?? "").utf8)
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      guard let place = bytes.indices.randomElement(using: &random) else { break }
      switch Int.random(in: 0..<4, using: &random) {
      case 0: bytes.removeSubrange(place...)
      case 1: bytes.insert(contentsOf: Array(bytes[..<place]), at: place)
      case 2: bytes.remove(at: place)
      default:
        bytes[place] = [.random(in: 0...255, using: &random), 0, 10, 13, 0x39].randomElement(using: &random) ?? 0
      }
    }
    // An empty reply would be none.
    return bytes.isEmpty ? [0] : bytes
  }

  @Test("No reply traps the transport, and one that is not understood is an error that the schedule retries")
  func replies() async throws {
    let seed = UInt64.random(in: 1...1_000_000)
    print("replies: \(Self.count), seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let replies = (0..<Self.count).map { _ in Self.changed(&random) }
    let server = try RawServer(closes: true) { number, bytes in
      RawServer.whenWhole("whole")(number, bytes).map { _ in replies[number % replies.count] }
    }
    var options = HTTPMessageTransport.Options()
    options.limit = .seconds(2)
    let transport = try HTTPMessageTransport("http://127.0.0.1:\(server.port)", options: options)
    var accepted = 0
    for reply in replies {
      do {
        try await transport.send(TransportTests.message(1))
        accepted += 1
        #expect(reply.contains(UInt8(ascii: "2")))
      } catch let error as MessageSendingError {
        #expect(error.code == .notSent)
      }
    }
    #expect(server.connections.count == replies.count)
    #expect(accepted < replies.count)
  }
}
