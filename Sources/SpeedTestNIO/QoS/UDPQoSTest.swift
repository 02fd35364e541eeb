internal import Glibc
internal import JSONValues
internal import NIOCore
internal import SpeedTest
internal import Timing

/// Datagrams to a port of the QoS server, which returns them, and from the server to a port of this host.
enum UDPQoSTest: QoSTest {
  /// The time between two datagrams unless the objective names one.
  private static let interval = Duration.milliseconds(100)

  static func run(_ objective: QoSObjective, _ context: QoSContext) async throws -> QoSResult {
    let outgoing = try run(objective, "out")
    let incoming = try run(objective, "in")
    guard outgoing != nil || incoming != nil else {
      throw SpeedTestError(.invalidReply, "the objective names no port with a number of packets")
    }
    let server = try await context.server(objective)
    var values = objective.repeated(
      "delay", "timeout", "out_port", "out_num_packets", "in_port", "in_num_packets")
    var parts: [QoSOutcome?] = []
    if let outgoing {
      let tally = try await DatagramRun.out(
        server, outgoing, uuid: context.uuid, every: objective.interval(default: interval),
        objective.timeout)
      parts.append(outcome(tally, of: outgoing.count))
      values.merge(results("out", tally, of: outgoing.count)) { $1 }
    } else {
      parts.append(nil)
    }
    if let incoming {
      let tally = try await DatagramRun.into(server, incoming, objective.timeout)
      parts.append(outcome(tally, of: incoming.count))
      values.merge(results("in", tally, of: incoming.count)) { $1 }
    } else {
      parts.append(nil)
    }
    let target = [
      outgoing.map { "\($0.count) to port \($0.port)" },
      incoming.map { "\($0.count) from port \($0.port)" },
    ].compactMap(\.self)
    return QoSResult(
      objective, target: target.joined(separator: ", "),
      QoSVerdict(["out": parts[0], "in": parts[1]]), values)
  }

  /// The run of a direction; `nil` if the objective has none.
  private static func run(_ objective: QoSObjective, _ direction: String) throws(SpeedTestError)
    -> DatagramRun.Size?
  {
    guard let port = try objective.port("\(direction)_port"),
      let count = objective.number("\(direction)_num_packets"),
      count > 0
    else { return nil }
    guard count <= QoSDatagram.sequences else {
      throw SpeedTestError(
        .invalidReply,
        "the objective has \(count) packets; at most \(QoSDatagram.sequences) can be told apart")
    }
    return DatagramRun.Size(port: port, count: count)
  }

  private static func outcome(_ tally: DatagramRun.Tally, of count: Int) -> QoSOutcome {
    if tally.here >= count, tally.there >= count { return .passed }
    return tally.here == 0 && tally.there == 0
      ? .timedOut : .failed("\(min(tally.here, tally.there)) of \(count) packets arrived")
  }

  private static func results(_ direction: String, _ tally: DatagramRun.Tally, of count: Int)
    -> [String: JSONValue]
  {
    // The receiver of a direction counts its packets, and the sender the replies.
    let received = direction == "out" ? tally.there : tally.here
    let lost = max(0, count - received) * 100 / count
    return [
      "udp_result_\(direction)_num_packets": .number(received),
      "udp_result_\(direction)_response_num_packets": .number(
        direction == "out" ? tally.here : tally.there),
      "udp_result_\(direction)_packet_loss_rate": .string("\(lost)"),
    ]
  }
}

/// A run of datagrams between this host and a QoS server.
enum DatagramRun {
  struct Size: Sendable {
    var port: Int
    var count: Int
  }

  /// The datagrams that either end received.
  struct Tally: Sendable {
    var here: Int
    var there: Int
    var datagrams = DatagramTally()
  }

  /// Sends a run and counts what comes back.
  /// - Parameters:
  ///   - server: The QoS server.
  ///   - size: The port and the number of datagrams.
  ///   - uuid: The identifier that each datagram contains.
  ///   - interval: The time between two datagrams; shorter if not all would be sent in half of the timeout.
  ///   - timeout: The timeout of the run.
  static func out(
    _ server: QTPClient, _ size: Size, uuid: String, every interval: Duration, _ timeout: Duration
  ) async throws -> Tally {
    guard var address = server.address else {
      throw SpeedTestError(.connectionClosed, "the QoS server has gone")
    }
    address.port = size.port
    _ = try await server.request("UDPTEST OUT \(size.port) \(size.count)")
    let datagrams = try await BlockingWork.run("qos-udp") { [address] work in
      let start = work.now
      let end = start + timeout
      let socket = try unrefused {
        try QoSSocket.connected(to: address, SOCK_DGRAM, until: end, work)
      }
      defer { socket.close() }
      var tally = DatagramTally()
      let step = min(interval, timeout / (2 * size.count))
      for index in 0..<size.count {
        let datagram = QoSDatagram.make(
          UInt8(truncatingIfNeeded: index), uuid: uuid, milliseconds: WallClock.unixMilliseconds())
        tally.sent(datagram, at: work.now)
        socket.sendDatagram(datagram)
        try receive(socket, &tally, until: start + step * (index + 1), of: size.count)
      }
      try receive(socket, &tally, until: end, of: size.count)
      return tally
    }
    let received = try QTPReceived(try await server.request("GET UDPRESULT OUT \(size.port)"))
    return Tally(here: datagrams.echoes.count, there: received.count, datagrams: datagrams)
  }

  private static func receive(
    _ socket: QoSSocket, _ tally: inout DatagramTally, until end: Duration, of count: Int
  ) throws {
    while !tally.isComplete(of: count),
      let bytes = try unrefused({ try socket.receive(until: end) })
    {
      tally.receive(bytes, at: socket.work.now)
    }
    // The next one is not due yet.
    if tally.sentCount < count { try socket.work.sleep(until: end) }
  }

  /// Receives a run of the server, and returns each datagram to it.
  static func into(_ server: QTPClient, _ size: Size, _ timeout: Duration) async throws -> Tally {
    guard let address = server.address else {
      throw SpeedTestError(.connectionClosed, "the QoS server has gone")
    }
    let here = try await BlockingWork.run("qos-udp") { work in
      let socket = try unrefused {
        try QoSSocket.bound(to: size.port, like: address, SOCK_DGRAM, work)
      }
      defer { socket.close() }
      let end = work.now + timeout
      try server.send("UDPTEST IN \(size.port) \(size.count)")
      var sequences: Set<UInt8> = []
      while sequences.count < size.count,
        let (bytes, sender, length) = try unrefused({ try socket.receiveWithSender(until: end) })
      {
        guard Sockets.bytes(of: Sockets.address(sender)) == Sockets.bytes(of: address),
          let sequence = QoSDatagram.sequence(ofRequest: bytes)
        else { continue }
        sequences.insert(sequence)
        socket.send(QoSDatagram.echo(bytes), to: sender, length)
      }
      return sequences.count
    }
    let received = try QTPReceived(try await server.request("GET UDPRESULT IN \(size.port)"))
    return Tally(here: here, there: received.count)
  }

  /// Runs an operation whose refusal by the system means that the test cannot run.
  private static func unrefused<Value>(_ body: () throws -> Value) throws -> Value {
    do {
      return try body()
    } catch QoSSocket.Failure.refused(let reason) {
      throw SpeedTestError(.busy, reason)
    }
  }
}
