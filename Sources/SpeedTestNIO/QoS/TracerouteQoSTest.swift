internal import Glibc
internal import JSONValues
internal import NIOCore
internal import SpeedTest
internal import Streams

/// The route to a host: datagrams whose time to live grows, and the errors that the kernel notes about them.
///
/// `IP_RECVERR` needs no privileges, as a raw socket would.
enum TracerouteQoSTest: QoSTest {
  private static let timeout = Duration.seconds(35)

  static func run(_ objective: QoSObjective, _ context: QoSContext) async throws -> QoSResult {
    guard let host = objective["host"] else {
      throw SpeedTestError(.invalidReply, "the objective names no host")
    }
    let limit = objective.number("max_hops") ?? 30
    let timeout = objective.duration("timeout", default: timeout)
    let route = try await BlockingWork.run("qos-trace") { work in
      // The resolver's own timeouts end this.
      guard
        let address = try? SocketAddress.makeAddressResolvingHost(
          host, port: TracerouteRoute.firstPort)
      else {
        throw SpeedTestError(.unreachable, "the host \(host.prefix(80)) has no address")
      }
      return try trace(address, TracerouteRoute(limit: limit), until: work.now + timeout, work)
    }
    let isMasked = objective.kind == .tracerouteMasked
    var values = objective.repeated("host", "max_hops", "timeout")
    values["traceroute_result_status"] = status(route)
    values["traceroute_result_hops"] = .number(route.hops.count)
    values["traceroute_result_details"] = .array(
      route.hops.map { hop in
        [
          "host": .string(TracerouteRoute.text(hop.address, isMasked: isMasked)),
          "time": .number(hop.nanoseconds),
        ]
      })
    return QoSResult(objective, target: host, verdict(route), values)
  }

  private static func status(_ route: TracerouteRoute) -> JSONValue {
    switch route.end {
    case .reached: "OK"
    case .tooFar: "MAX_HOPS_EXCEEDED"
    case .unreachable: "ERROR"
    case nil: "TIMEOUT"
    }
  }

  private static func verdict(_ route: TracerouteRoute) -> QoSVerdict {
    switch route.end {
    case .reached: .passed
    case .tooFar: .failed("not reached within \(route.hops.count) hops")
    case .unreachable: .failed("unreachable behind \(route.hops.count) hops")
    case nil: .failed("not reached in time, after \(route.hops.count) hops")
    }
  }

  // MARK: Datagrams

  private static func trace(
    _ address: SocketAddress, _ route: TracerouteRoute, until end: Duration, _ work: BlockingWork
  ) throws -> TracerouteRoute {
    var route = route
    while let hops = route.nextTimeToLive, work.now < end {
      var target = address
      target.port = TracerouteRoute.firstPort + hops - 1
      do {
        route.handle(
          try probe(target, hops, until: min(end, work.now + TracerouteRoute.hopTimeout), work))
      } catch QoSSocket.Failure.refused(let reason) {
        throw SpeedTestError(.unreachable, reason)
      }
    }
    return route
  }

  /// Sends a datagram with a time to live, and waits for what the kernel notes about it.
  private static func probe(
    _ target: SocketAddress, _ timeToLive: Int, until end: Duration, _ work: BlockingWork
  ) throws -> TracerouteRoute.Answer {
    // A socket for each: an answer that comes late belongs to none of the later ones.
    let socket = try QoSSocket.connected(to: target, SOCK_DGRAM, until: end, work)
    defer { socket.close() }
    let isIPv6 = target.protocol == .inet6
    let isReady =
      isIPv6
      ? socket.set(Int32(IPPROTO_IPV6), IPV6_RECVERR, 1)
        && socket.set(Int32(IPPROTO_IPV6), IPV6_UNICAST_HOPS, Int32(timeToLive))
      : socket.set(Int32(IPPROTO_IP), IP_RECVERR, 1)
        && socket.set(Int32(IPPROTO_IP), IP_TTL, Int32(timeToLive))
    guard isReady else { throw QoSSocket.Failure.refused(QoSSocket.reason("setsockopt")) }
    let start = work.now
    socket.sendDatagram([UInt8](repeating: 0x40, count: 32))
    while work.now < end {
      // Errors are always waited for.
      guard try work.wait(socket.number, for: 0, until: end) != 0 else { break }
      if let message = socket.queuedError() {
        return .message(message, nanoseconds: (work.now - start).wholeNanoseconds)
      }
      socket.clearError()
    }
    return .silence(nanoseconds: (work.now - start).wholeNanoseconds)
  }
}

extension QoSSocket {
  /// Takes the pending error of the socket, which would end every wait at once.
  func clearError() {
    var error: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    getsockopt(number, SOL_SOCKET, SO_ERROR, &error, &length)
  }

  /// Returns the next message of the error queue; `nil` if there is none.
  func queuedError() -> SocketErrorMessage? {
    var buffer = DatagramBuffer(size: 64, controlSize: 512)
    guard (try? buffer.receive(from: number, flags: Int32(MSG_ERRQUEUE | MSG_DONTWAIT))) != nil else { return nil }
    return SocketErrorMessage(control: Array(buffer.control))
  }
}
