/// A message in the error queue of a socket: what an ICMP message said about a datagram that was sent (`IP_RECVERR`).
package struct SocketErrorMessage: Sendable, Hashable {
  /// The cause of the message.
  package enum Cause: Sendable, Hashable {
    /// The time to live ended at a router.
    case timeExceeded
    /// No program receives at the port: the datagram has reached its destination.
    case portUnreachable
    /// The destination cannot be reached, by the type and code of ICMP.
    case unreachable(type: UInt8, code: UInt8)
    /// This host could not send.
    case local
  }

  /// The cause of the message.
  package let cause: Cause
  /// The bytes of the address that sent the message, 4 or 16; empty if it is unknown.
  package let offender: [UInt8]

  private static let icmp: UInt8 = 2
  private static let icmp6: UInt8 = 3

  /// Reads the control messages that `recvmsg` returns for the error queue.
  /// - Returns: `nil` if none of them is an error message.
  package init?(control: [UInt8]) {
    let word = MemoryLayout<Int>.size
    let head = word + 8
    var offset = 0
    while offset + head <= control.count {
      let length = Int(clamping: Self.number(control[offset..<(offset + word)]))
      guard length >= head, length <= control.count - offset else { return nil }
      let level = Self.number(control[(offset + word)..<(offset + word + 4)])
      let type = Self.number(control[(offset + word + 4)..<(offset + head)])
      if Self.levels[level] == type {
        self.init(Array(control[(offset + head)..<(offset + length)]))
        return
      }
      // Messages begin at multiples of the size of a word.
      offset += (length + word - 1) / word * word
    }
    return nil
  }

  /// The types of error messages by their levels: `IP_RECVERR` of `IPPROTO_IP`, `IPV6_RECVERR` of `IPPROTO_IPV6`.
  private static let levels: [UInt64: UInt64] = [0: 11, 41: 25]

  /// The number in the byte order of this host; all hosts of EdgeBlue are little-endian.
  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Reads the data of a control message of type `IP_RECVERR` or `IPV6_RECVERR`: `sock_extended_err`, and the socket address
  /// of the offender behind it.
  /// - Returns: `nil` for bytes that are too few.
  package init?(_ data: [UInt8]) {
    guard data.count >= 16 else { return nil }
    let origin = data[4]
    let type = data[5]
    let code = data[6]
    switch (origin, type, code) {
    case (Self.icmp, 11, _), (Self.icmp6, 3, _): cause = .timeExceeded
    case (Self.icmp, 3, 3), (Self.icmp6, 1, 4): cause = .portUnreachable
    case (Self.icmp, _, _), (Self.icmp6, _, _): cause = .unreachable(type: type, code: code)
    default: cause = .local
    }
    // The family has the byte order of the host, the address that of the network.
    let family = data.count >= 18 ? UInt16(data[16]) | UInt16(data[17]) << 8 : 0
    switch family {
    case 2 where data.count >= 24: offender = Array(data[20..<24])
    case 10 where data.count >= 40: offender = Array(data[24..<40])
    default: offender = []
    }
  }
}

/// The route to a host, as it is found hop by hop.
package struct TracerouteRoute: Sendable, Hashable {
  /// A hop of the route.
  package struct Hop: Sendable, Hashable {
    /// The bytes of the address; empty for a hop that did not answer.
    package var address: [UInt8]
    /// The time to the answer in nanoseconds, or that of the wait.
    package var nanoseconds: UInt64
  }

  /// The answer to a datagram.
  package enum Answer: Sendable, Hashable {
    /// A message of ICMP, after a time.
    case message(SocketErrorMessage, nanoseconds: UInt64)
    /// No answer in time.
    case silence(nanoseconds: UInt64)
  }

  /// The end of the route.
  package enum End: Sendable, Hashable {
    /// The host answered.
    case reached
    /// A router reported that the host cannot be reached.
    case unreachable
    /// The largest number of hops was not enough.
    case tooFar
  }

  /// The port of the first datagram; each further one has the next port, so that answers are told apart.
  package static let firstPort = 33_434
  /// The time to wait for the answer of a hop.
  package static let hopTimeout = Duration.seconds(2)
  /// The largest number of hops.
  package static let hops = 1...64

  private let limit: Int
  /// The hops so far.
  package private(set) var hops: [Hop] = []
  /// The end of the route; `nil` while it is not found.
  package private(set) var end: End?

  /// Creates a route without any hop.
  /// - Parameter limit: The largest number of hops.
  package init(limit: Int) { self.limit = min(max(limit, Self.hops.lowerBound), Self.hops.upperBound) }

  /// The time to live of the next datagram; `nil` at the end of the route.
  package var nextTimeToLive: Int? { end == nil ? hops.count + 1 : nil }

  /// Accepts the answer to the datagram with ``nextTimeToLive``.
  package mutating func handle(_ answer: Answer) {
    guard end == nil else { return }
    switch answer {
    case .silence(let time): hops.append(Hop(address: [], nanoseconds: time))
    case .message(let message, let time):
      hops.append(Hop(address: message.offender, nanoseconds: time))
      switch message.cause {
      case .timeExceeded: break
      case .portUnreachable: end = .reached
      case .unreachable, .local: end = .unreachable
      }
    }
    if end == nil, hops.count >= limit { end = .tooFar }
  }

  /// Returns the text of an address.
  /// - Parameters:
  ///   - address: The bytes; none give `*`.
  ///   - isMasked: Whether the last part is left out: `192.0.2.x`, or the half of an IPv6 address that names the device.
  package static func text(_ address: [UInt8], isMasked: Bool) -> String {
    switch address.count {
    case 4:
      let parts = address.map { "\($0)" }
      return (isMasked ? parts.dropLast() + ["x"] : parts).joined(separator: ".")
    case 16:
      guard isMasked else { return IPv6Text.of(address) }
      let network = IPv6Text.of(Array(address[..<8]) + [UInt8](repeating: 0, count: 8))
      return (network.hasSuffix("::") ? network : network + "::") + "x"
    default: return "*"
    }
  }
}
