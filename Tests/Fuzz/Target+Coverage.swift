import Foundation
import JSONValues

@testable import Coverage

extension Target {
  /// The datagrams of ping servers and the replies of control servers.
  static let coverage = [
    Target("coverage-pings", seeds: [pings]) { bytes in
      var input = Input(bytes)
      var machine = PingMachine(network: .cellular, sequence: 0)
      var now = Duration.zero
      _ = machine.handle(.start, at: now)
      _ = machine.handle(.tick, at: now)
      let target = PingTarget(host: "h", port: 1, token: [UInt8](repeating: 0, count: 16))
      _ = machine.handle(.prepared(generation: 1, CoverageGrant(session: "s", pings: target)), at: now)
      _ = machine.handle(.activated(generation: 1), at: now)
      while !input.isEmpty {
        now += .milliseconds(Int(input.byte()))
        _ = machine.handle(.tick, at: now)
        if let next = machine.nextInstant { require(next > now, "an instant that has passed") }
        require(machine.pending.count <= 20, "more pings in flight than a second has")
        guard let reply = PingPacket.Reply(input.piece()) else { continue }
        let actions = machine.handle(.received(generation: machine.generation, reply, at: now), at: now)
        for case .report(let ping) in actions { require(ping.roundTrip ?? .zero >= .zero, "a negative time") }
      }
    },
    Target(
      "coverage-replies",
      texts: [
        #"{"test_uuid":"a","loop_uuid":"b","ping_token":"AAAAAAAAAAAAAAAAAAAAAA==","ping_host":"h","ping_port":"1","#
          + #""ip_version":4,"max_coverage_session_seconds":600,"max_coverage_measurement_seconds":"7200"}"#,
        #"{"error":["No started test found by id a"]}"#, #"{"error":"a"}"#, "{}",
      ]
    ) { bytes in
      for status in [0, 200, 302, 400, 408, 409, 429, 500, 999] {
        let reply = ControlReply(status: status, body: Data(bytes))
        let verdict = ResendRules.verdict(reply, wasUnconfirmed: false)
        require(verdict != .delivered || reply.isSuccess, "a delivery that the server does not report")
        require(reply.reason.count <= 200, "a reason without a bound")
      }
      let grant = try CoverageGrant(reply: Data(bytes))
      require((.seconds(30)...CoverageGrant.longest).contains(grant.window), "a window out of its range")
      require((.seconds(30)...CoverageGrant.longest).contains(grant.runLimit), "a limit out of its range")
      require(grant.pings.map { $0.token.count == PingTarget.tokenSize } ?? true, "a token of another size")
      require(CoverageGrant.isIdentifier(grant.session), "an identifier that is none")
    },
  ]

  private static var pings: [UInt8] {
    (0..<12).flatMap { (number: UInt8) -> [UInt8] in
      let kind = number == 9 ? "RE01" : "RR01"
      return [100, 8] + Array(kind.utf8) + [0, 0, 0, number]
    }
  }
}
