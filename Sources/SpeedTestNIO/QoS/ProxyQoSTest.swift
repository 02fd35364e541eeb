internal import Glibc
internal import SpeedTest

/// A line to a port of the QoS server, which has to come back as it was sent.
enum ProxyQoSTest: QoSTest {
  /// The longest line that is sent, in bytes.
  private static let lineLimit = 8192

  static func run(_ objective: QoSObjective, _ context: QoSContext) async throws -> QoSResult {
    guard let port = try objective.port("port"), let request = objective["request"],
      request.utf8.count <= lineLimit
    else { throw SpeedTestError(.invalidReply, "the objective names no port or no request") }
    let server = try await context.server(objective)
    guard var address = server.address else {
      throw SpeedTestError(.connectionClosed, "the QoS server has gone")
    }
    address.port = port
    _ = try await server.request("NTPTEST \(port)")
    let timeout = objective.timeout
    let (outcome, response) = try await BlockingWork.run("qos-proxy") { [address] work in
      let end = work.now + timeout
      var response: [UInt8] = []
      let outcome = try QoSOutcome.of {
        let socket = try QoSSocket.connected(to: address, SOCK_STREAM, until: end, work)
        defer { socket.close() }
        let sent = Array("\(request)\n".utf8)
        try socket.send(sent, until: end)
        while response.count < sent.count {
          guard let more = try socket.receive(until: end) else { throw QoSSocket.Failure.timedOut }
          if more.isEmpty { break }
          response += more
        }
        return response == sent ? .passed : .failed("the line was changed on the way")
      }
      return (outcome, String(decoding: response, as: UTF8.self))
    }
    var values = objective.repeated("request", "port", "timeout")
    values["nontransproxy_result"] = outcome.value
    values["nontransproxy_result_response"] =
      response.isEmpty ? nil : .string(String(response.prefix(4096)))
    return QoSResult(objective, target: "port \(port)", QoSVerdict(["": outcome]), values)
  }
}
