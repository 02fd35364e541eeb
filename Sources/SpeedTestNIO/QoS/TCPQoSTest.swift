internal import Glibc
internal import NIOCore
internal import SpeedTest

/// Connections over TCP to a port of the QoS server, and from the server to a port of this host.
enum TCPQoSTest: QoSTest {
  static func run(_ objective: QoSObjective, _ context: QoSContext) async throws -> QoSResult {
    let outPort = try objective.port("out_port")
    let inPort = try objective.port("in_port")
    guard outPort != nil || inPort != nil else {
      throw SpeedTestError(.invalidReply, "the objective names no port")
    }
    let server = try await context.server(objective)
    guard let address = server.address else {
      throw SpeedTestError(.connectionClosed, "the QoS server has gone")
    }
    var values = objective.repeated("timeout", "out_port", "in_port")
    var outgoing: QoSOutcome?
    var incoming: QoSOutcome?
    if let outPort {
      _ = try await server.request("TCPTEST OUT \(outPort)")
      let part = try await out(address, outPort, objective.timeout)
      outgoing = part.outcome
      values["tcp_result_out"] = part.outcome.value
      values["tcp_result_out_response"] = part.response.map { .string($0) } ?? .null
    }
    if let inPort {
      let part = try await into(address, inPort, objective.timeout, server)
      incoming = part.outcome
      values["tcp_result_in"] = part.outcome.value
      values["tcp_result_in_response"] = part.response.map { .string($0) } ?? .null
    }
    let target = [outPort.map { "to port \($0)" }, inPort.map { "from port \($0)" }].compactMap(
      \.self)
    return QoSResult(
      objective, target: target.joined(separator: ", "),
      QoSVerdict(["out": outgoing, "in": incoming]), values)
  }

  private typealias Part = (outcome: QoSOutcome, response: String?)

  private static func out(_ address: SocketAddress, _ port: Int, _ timeout: Duration) async throws
    -> Part
  {
    try await BlockingWork.run("qos-tcp") { work in
      let end = work.now + timeout
      var response: String?
      let outcome = try QoSOutcome.of {
        var target = address
        target.port = port
        let socket = try QoSSocket.connected(to: target, SOCK_STREAM, until: end, work)
        defer { socket.close() }
        try socket.send(Array("PING\n".utf8), until: end)
        let line = try socket.line(until: end)
        response = line
        return line.trimmed == "PING"
          ? .passed : .failed("the answer is '\(line.prefix(40))' and not PING")
      }
      return (outcome, response)
    }
  }

  private static func into(
    _ address: SocketAddress, _ port: Int, _ timeout: Duration, _ server: QTPClient
  ) async throws -> Part {
    try await BlockingWork.run("qos-tcp") { work in
      let listener: QoSSocket
      do {
        listener = try QoSSocket.bound(to: port, like: address, SOCK_STREAM, work)
      } catch QoSSocket.Failure.refused(let reason) {
        throw SpeedTestError(.busy, reason)
      }
      defer { listener.close() }
      let end = work.now + timeout
      try server.send("TCPTEST IN \(port)")
      var response: String?
      let outcome = try QoSOutcome.of {
        let socket = try listener.accepted(until: end)
        defer { socket.close() }
        let line = try socket.line(until: end)
        response = line
        return line.hasPrefix("HELLO TO")
          ? .passed : .failed("the greeting is '\(line.prefix(40))'")
      }
      return (outcome, response)
    }
  }
}

extension String {
  /// The text without a carriage return at its end.
  var trimmed: String { hasSuffix("\r") ? String(dropLast()) : self }
}
