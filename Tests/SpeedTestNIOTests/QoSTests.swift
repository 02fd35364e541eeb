import Foundation
import SystemTesting
import Testing

@testable import SpeedTest

/// Our QoS tests at a server that was written in Python from the protocol's description.
@Suite("QoS tests", .enabled(if: Peers.isThere, "needs python3"), .timeLimit(.minutes(5)))
struct QoSTests {
  @Test("TCP connects to a port of the server, and the server to one of this host") func tcp()
    async throws
  {
    let server = try await PythonQoS()
    let result = try await server.run(
      .tcp, ["out_port": "\(server.ports[1])", "in_port": "\(try LoopbackPort.free())"])
    #expect(result.verdict == .passed)
    #expect(result.values["tcp_result_out"] == "OK")
    #expect(result.values["tcp_result_out_response"] == "PING")
    #expect(result.values["tcp_result_in"] == "OK")
    #expect(result.values["tcp_objective_timeout"] == 2_000_000_000)
    #expect(result.durationNs > 0)
  }

  @Test(
    "TCP that is answered otherwise, late or not at all fails",
    arguments: [
      ("tcp-other", "ERROR", "OK"), ("tcp-silent", "TIMEOUT", "OK"),
      ("no-connection", "OK", "TIMEOUT"),
    ])
  func tcpFaults(fault: String, out: String, into: String) async throws {
    let server = try await PythonQoS(["--fault", fault])
    let result = try await server.run(
      .tcp,
      [
        "out_port": "\(server.ports[1])", "in_port": "\(try LoopbackPort.free())",
        "timeout": "500000000",
      ])
    #expect(result.verdict.isFailure)
    #expect(result.values["tcp_result_out"]?.text == out)
    #expect(result.values["tcp_result_in"]?.text == into)
  }

  @Test("Ports that are closed, in use or none are reasons") func ports() async throws {
    let server = try await PythonQoS()
    let closed = try await server.run(.tcp, ["out_port": "\(try LoopbackPort.free())"])
    #expect(closed.verdict == .failed("out: connect: Connection refused"))
    let used = try await server.run(.tcp, ["in_port": "\(server.ports[1])"])
    #expect(used.verdict.reasonNotRun?.contains("Address already in use") == true)
    #expect(
      try await server.run(.tcp, ["out_port": "70000"]).verdict.reasonNotRun?.contains("no port")
        == true)
    #expect(try await server.run(.tcp, [:]).verdict.reasonNotRun != nil)
  }

  @Test(
    "UDP counts at both ends, in both directions; duplicates end nothing",
    arguments: [nil, "udp-duplicates"])
  func udp(fault: String?) async throws {
    let server = try await PythonQoS(fault.map { ["--fault", $0] } ?? [])
    let result = try await server.run(
      .udp,
      [
        "out_port": "\(server.ports[2])", "out_num_packets": "8",
        "in_port": "\(try LoopbackPort.free())",
        "in_num_packets": "5", "delay": "20000000",
        // A busy machine takes seconds for what a line does at once.
        "timeout": "60000000000",
      ])
    #expect(result.verdict == .passed)
    #expect(result.values["udp_result_out_num_packets"] == 8)
    #expect(result.values["udp_result_out_response_num_packets"] == 8)
    #expect(result.values["udp_result_out_packet_loss_rate"] == "0")
    #expect(result.values["udp_result_in_num_packets"] == 5)
    // The server counts a reply that has the payload of its datagram alone.
    #expect(result.values["udp_result_in_response_num_packets"] == 5)
  }

  @Test("Lost datagrams are counted") func udpLoss() async throws {
    let server = try await PythonQoS(["--fault", "udp-loses"])
    let result = try await server.run(
      .udp,
      [
        "out_port": "\(server.ports[2])", "out_num_packets": "8", "delay": "10000000",
        "timeout": "500000000",
      ])
    #expect(result.verdict == .failed("out: 4 of 8 packets arrived"))
    #expect(result.values["udp_result_out_packet_loss_rate"] == "50")
    let call = try await server.run(
      .voip, ["out_port": "\(server.ports[2])", "call_duration": "200000000"])
    #expect(call.verdict.isFailure)
  }

  @Test("A call has jitter, order and loss") func call() async throws {
    let server = try await PythonQoS()
    let result = try await server.run(
      .voip, ["out_port": "\(server.ports[2])", "call_duration": "400000000", "delay": "20000000"])
    // How even the stream is, is a question for an idle machine.
    #expect(result.values["voip_result_out_num_packets"] == 20)
    #expect(result.values["voip_result_in_num_packets"] == 20)
    #expect(result.values["voip_result_status"] == "OK")
    #expect(result.values["voip_result_in_mean_jitter"]?.integer != nil)
    #expect(result.target == "20 packets to port \(server.ports[2])")
  }

  @Test("A line that is changed on the way fails") func proxy() async throws {
    for (fault, isUnchanged) in [(nil, true), ("proxy", false)] as [(String?, Bool)] {
      let server = try await PythonQoS(fault.map { ["--fault", $0] } ?? [])
      let result = try await server.run(
        .nonTransparentProxy, ["port": "\(server.ports[3])", "request": "GET / HTTR/7.9"])
      #expect((result.verdict == .passed) == isUnchanged)
      #expect(result.values["nontransproxy_result"]?.text == (isUnchanged ? "OK" : "ERROR"))
      #expect(result.values["nontransproxy_result_response"]?.text?.hasPrefix("GET ") == true)
    }
  }

  @Test("A file has its status, length, headers and hash, also of a range") func file() async throws {
    let server = try await PythonQoS()
    let url = "http://127.0.0.1:\(server.ports[4])/page"
    for (range, status, length) in [("", 200, 10_240), ("bytes=1000-1999", 206, 1000)] {
      let result = try await server.run(.httpProxy, ["url": url, "range": range])
      #expect(result.verdict == .passed)
      #expect(result.values["http_result_status"]?.integer == status)
      #expect(result.values["http_result_length"]?.integer == length)
      let hash = try #require(result.values["http_result_hash"]?.text)
      #expect(result.values["http_result_header"]?.text?.contains("X-Hash: \(hash)") == true)
    }
    let moved = try await server.run(
      .httpProxy, ["url": "http://127.0.0.1:\(server.ports[4])/moved"])
    #expect(moved.values["http_result_status"] == 302)
    #expect(
      try await server.run(.httpProxy, ["url": "file:///etc/passwd"]).verdict.reasonNotRun != nil)
  }

  @Test("A page has its times and its size, behind a redirect too") func page() async throws {
    let server = try await PythonQoS()
    let result = try await server.run(
      .website, ["url": "http://127.0.0.1:\(server.ports[4])/moved"])
    #expect(result.verdict == .passed)
    #expect(result.values["website_result_rx_bytes"] == 10_240)
    let first = try #require(result.values["website_result_first_byte"]?.integer)
    let last = try #require(result.values["website_result_duration"]?.integer)
    #expect((1...last).contains(first))
    let slow = try await server.run(
      .website, ["url": "http://127.0.0.1:\(server.ports[4])/slow", "timeout": "300000000"])
    #expect(slow.values["website_result_info"] == "TIMEOUT")
    let missing = try await server.run(
      .website, ["url": "http://127.0.0.1:\(server.ports[4])/missing"])
    #expect(missing.verdict == .failed("status 404"))
  }

  @Test(
    "A resolver is queried for each record",
    arguments: [
      ("A", ["192.0.2.7", "192.0.2.8"]), ("AAAA", ["2001:db8::7"]),
      ("MX", ["mail.www.example.org"]),
      ("TXT", ["hello world"]), ("CNAME", ["alias.www.example.org"]),
    ])
  func dns(record: String, values: [String]) async throws {
    let server = try await PythonQoS()
    let result = try await server.run(
      .dns,
      ["host": "www.example.org", "record": record, "resolver": "127.0.0.1:\(server.ports[5])"])
    #expect(result.verdict == .passed)
    #expect(result.values["dns_result_status"] == "NOERROR")
    #expect(
      result.values["dns_result_entries"]?.elements?.map { $0["dns_result_address"]?.text } == values)
    #expect(result.values["dns_result_entries_found"]?.text == "\(values.count)")
    #expect(try #require(result.values["dns_result_duration"]?.integer) > 0)
  }

  @Test("A name that does not exist, a long answer and silence") func dnsOthers() async throws {
    let server = try await PythonQoS()
    let resolver = "127.0.0.1:\(server.ports[5])"
    let none = try await server.run(
      .dns, ["host": "none.example", "record": "A", "resolver": resolver])
    #expect(none.verdict == .passed)
    #expect(none.values["dns_result_status"] == "NXDOMAIN")
    #expect(none.values["dns_result_entries_found"] == "0")
    let long = try await server.run(
      .dns, ["host": "long.example", "record": "TXT", "resolver": resolver])
    #expect(long.values["dns_result_entries_found"] == "1")
    let silent = try await server.run(
      .dns, ["host": "silent.example", "record": "A", "resolver": resolver, "timeout": "300000000"])
    #expect(silent.values["dns_result_info"] == "TIMEOUT")
    #expect(silent.verdict.isFailure)
    let odd = try await server.run(.dns, ["host": "a..b", "record": "A", "resolver": resolver])
    #expect(odd.verdict.reasonNotRun != nil)
  }

  @Test("This host is one hop away") func traceroute() async throws {
    let server = try await PythonQoS()
    let result = try await server.run(.traceroute, ["host": "127.0.0.1", "max_hops": "5"])
    #expect(result.verdict == .passed)
    #expect(result.values["traceroute_result_details"]?.elements?.map { $0["host"] } == ["127.0.0.1"])
    let masked = try await server.run(.tracerouteMasked, ["host": "127.0.0.1"])
    #expect(masked.values["traceroute_result_details"]?.elements?.map { $0["host"] } == ["127.0.0.x"])
    #expect(masked.values["traceroute_result_status"] == "OK")
    let unknown = try await server.run(.traceroute, ["host": "host.invalid"])
    #expect(unknown.verdict.reasonNotRun?.contains("no address") == true)
  }
}

/// Connections to QoS servers, and how the tests share them.
@Suite("QoS runs", .enabled(if: Peers.isThere, "needs python3"), .timeLimit(.minutes(5)))
struct QoSRunTests {
  @Test("Groups run one after the other, and a test that cannot run hinders none") func groups()
    async throws
  {
    let server = try await PythonQoS()
    let line = ["port": "\(server.ports[3])", "request": "GET"]
    var objectives = [server.objective(.tcp, [:], group: 1)]
    for group in [3, 1, 2] {
      for _ in 0..<5 {
        objectives.append(server.objective(.nonTransparentProxy, line, group: group))
      }
    }
    let results = try await server.run(objectives)
    #expect(results.count == 16)
    #expect(QoSReport(results).passed == 15)
    #expect(QoSReport(results).notRun == 1)
    // Each group has ended before the next one starts.
    let groups = [results[..<6], results[6..<11], results[11...]]
    for (before, after) in zip(groups, groups.dropFirst()) {
      let end = try #require(before.map { $0.startNs + $0.durationNs }.max())
      #expect(try #require(after.map(\.startNs).min()) >= end)
    }
  }

  @Test("A token that the server does not accept is a reason, and no hang") func refused()
    async throws
  {
    let server = try await PythonQoS(["--token", "other"])
    let result = try await server.run(.tcp, ["out_port": "\(server.ports[1])"])
    #expect(result.verdict == .notRun("the QoS server does not accept the token"))
  }

  @Test(
    "A server with a fault ends its tests within a bound",
    arguments: ["not-qos", "gigabyte-line", "close-after-command", "err"])
  func faults(fault: String) async throws {
    let server = try await PythonQoS(["--fault", fault])
    let result = try await server.run(
      .nonTransparentProxy, ["port": "\(server.ports[3])", "request": "GET"])
    #expect(result.verdict.reasonNotRun != nil, "\(result.verdict)")
  }

  @Test(
    "A QoS server with TLS is verified", .enabled(if: TestCertificate.isPossible, "needs openssl"))
  func tls() async throws {
    let files = try await TestCertificate()
    let server = try await PythonQoS(
      ["--certificate", files.certificate, "--private-key", files.key], folder: files.folder)
    let objective = server.objective(
      .nonTransparentProxy, ["port": "\(server.ports[3])", "request": "GET"])
    let trusted = try await server.run(
      [objective], isEncrypted: true, certificates: files.certificate)
    #expect(trusted.map(\.verdict) == [.passed])
    let untrusted = try await server.run([objective], isEncrypted: true)
    #expect(
      untrusted.first?.verdict.reasonNotRun?.contains("the certificate is not trusted") == true)
    // The token of a measurement over TLS is not sent without it.
    let plain = try await PythonQoS()
    let line = plain.objective(
      .nonTransparentProxy, ["port": "\(plain.ports[3])", "request": "GET"])
    let refused = try await plain.run([line], isEncrypted: true)
    #expect(refused.first?.verdict == .notRun("the QoS server does not speak TLS"))
  }

  @Test("A cancelled run ends at once") func cancelled() async throws {
    let server = try await PythonQoS()
    let objective = server.objective(
      .dns,
      [
        "host": "silent.example", "record": "A", "resolver": "127.0.0.1:\(server.ports[5])",
        "timeout": "60000000000",
      ])
    let running = Task { try await server.run([objective]) }
    try await Task.sleep(for: .milliseconds(200))
    running.cancel()
    await #expect(throws: CancellationError.self) {
      try await within(.seconds(20)) { try await running.value }
    }
  }
}
