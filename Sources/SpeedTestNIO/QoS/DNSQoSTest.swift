internal import DurableFiles
internal import Glibc
internal import JSONValues
internal import NIOCore
internal import SpeedTest

/// A query of a resolver.
enum DNSQoSTest: QoSTest {
  /// The number of times that a query is sent over UDP, at equal intervals of the timeout.
  private static let attempts = 3

  static func run(_ objective: QoSObjective, _ context: QoSContext) async throws -> QoSResult {
    guard let host = objective["host"], let record = objective["record"] ?? objective["dns_record"],
      let type = DNSRecordType(record)
    else {
      throw SpeedTestError(
        .invalidReply, "the objective names no host, or no record of a known type")
    }
    guard let query = DNSQuery(id: .random(in: 0...UInt16.max), name: host, type: type) else {
      throw SpeedTestError(.invalidReply, "the host '\(host.prefix(80))' is no name")
    }
    let named = objective["resolver"]
    guard let resolver = named.flatMap(Self.address) ?? systemResolver() else {
      throw SpeedTestError(.unreachable, "this host has no resolver")
    }
    let timeout = objective.timeout
    let answer = try await BlockingWork.run("qos-dns") { work in
      let start = work.now
      var response: DNSResponse?
      let outcome = try QoSOutcome.of {
        response = try ask(resolver, query, until: start + timeout, work)
        return response == nil ? .timedOut : .passed
      }
      return (outcome: outcome, response: response, duration: work.now - start)
    }
    var values = objective.repeated("host", "timeout")
    values["dns_objective_dns_record"] = .string(record)
    values["dns_objective_resolver"] = .string(resolver.ipAddress ?? named ?? "")
    values["dns_result_info"] = answer.outcome.value
    values["dns_result_duration"] = .number(answer.duration.wholeNanoseconds)
    let entries = answer.response?.entries ?? []
    values["dns_result_status"] = answer.response.map { .string($0.status) }
    values["dns_result_entries_found"] = .string("\(entries.count)")
    values["dns_result_entries"] = .array(entries.map(value))
    return QoSResult(
      objective, target: "\(record) of \(host)", QoSVerdict(["": answer.outcome]), values)
  }

  private static func value(_ entry: DNSResponse.Entry) -> JSONValue {
    var members: [String: JSONValue] = [
      "dns_result_address": .string(entry.value), "dns_result_ttl": .number(UInt64(entry.ttl)),
    ]
    members["dns_result_priority"] = entry.priority.map { .number(UInt64($0)) }
    return .object(members)
  }

  // MARK: The query

  /// Queries a resolver over UDP, and over TCP when the response is cut off.
  /// - Returns: `nil` without a response in time.
  private static func ask(
    _ resolver: SocketAddress, _ query: DNSQuery, until end: Duration, _ work: BlockingWork
  ) throws -> DNSResponse? {
    // A connected socket takes datagrams of the resolver alone, at a port that nobody can guess.
    let socket = try QoSSocket.connected(to: resolver, SOCK_DGRAM, until: end, work)
    defer { socket.close() }
    let step = (end - work.now) / attempts
    for attempt in 1...attempts {
      socket.sendDatagram(query.bytes)
      let pause = attempt == attempts ? end : end - step * (attempts - attempt)
      while let bytes = try socket.receive(until: pause) {
        guard let response = DNSResponse(bytes, to: query) else { continue }
        guard response.isTruncated else { return response }
        return try askOverTCP(resolver, query, until: end, work)
      }
    }
    return nil
  }

  private static func askOverTCP(
    _ resolver: SocketAddress, _ query: DNSQuery, until end: Duration, _ work: BlockingWork
  ) throws -> DNSResponse? {
    let socket = try QoSSocket.connected(to: resolver, SOCK_STREAM, until: end, work)
    defer { socket.close() }
    let bytes = query.bytes
    try socket.send([UInt8(bytes.count >> 8), UInt8(bytes.count & 0xff)] + bytes, until: end)
    var received: [UInt8] = []
    while received.count < 2 || received.count < 2 + (Int(received[0]) << 8 | Int(received[1])) {
      guard let more = try socket.receive(until: end, limit: 65_536) else {
        throw QoSSocket.Failure.timedOut
      }
      if more.isEmpty { throw QoSSocket.Failure.refused("the resolver closed the connection") }
      received += more
    }
    return DNSResponse(Array(received[2...]), to: query)
  }

  // MARK: Resolvers

  /// The address of a resolver, with port 53 unless another one is written behind it.
  private static func address(_ text: String) -> SocketAddress? {
    if let address = try? SocketAddress(ipAddress: text, port: 53) { return address }
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...])
    else { return nil }
    let host = text[..<colon].filter { $0 != "[" && $0 != "]" }
    return try? SocketAddress(ipAddress: String(host), port: Int(port))
  }

  /// The first resolver of this host.
  private static func systemResolver() -> SocketAddress? {
    let lines = SmallFile("/etc/resolv.conf").text()?.split(separator: "\n") ?? []
    return lines.lazy.compactMap { line -> SocketAddress? in
      let words = line.split(whereSeparator: \.isWhitespace)
      return words.count > 1 && words[0] == "nameserver" ? address(String(words[1])) : nil
    }.first
  }
}
