import Coverage
import Streams
import Timing

/// Pings over the socket of a run, one after the other.
enum Pinging {
  static func run(port: Int, count: Int, pause: Duration) async throws {
    let token = [UInt8](repeating: 1, count: 16)
    guard let target = PingTarget(host: "127.0.0.1", port: port, version: 4, token: token) else {
      throw CoverageError(.invalidArgument, "no such port")
    }
    let received = Lock([Duration?](repeating: nil, count: count))
    let socket = try await PingSocket.connect(to: target, interface: nil, clock: .continuous) { arrival in
      guard case .datagram(let bytes, let instant) = arrival, case .good(let number) = PingPacket.Reply(bytes) else {
        return
      }
      received.withLock { $0[Int(number)] = instant }
    }
    var sent: [Duration?] = []
    for number in 0..<count {
      sent.append(socket.send(PingPacket.request(UInt32(number), token: token)))
      try await TimeSource.continuous.sleep(for: pause)
    }
    try await TimeSource.continuous.sleep(for: .milliseconds(100))
    socket.close()
    for (begin, end) in zip(sent, received.withLock { $0 }) {
      guard let begin, let end else { continue }
      print((end - begin) / .nanoseconds(1))
    }
  }
}
