public import FoundationEssentials
internal import JSONValues

/// A session that a control server has granted: its identifier, and where to send pings.
public struct CoverageGrant: Sendable, Hashable {
  /// The identifier of the session at the server.
  public var session: String
  /// The identifier of the chain of sessions, which the request of the next one repeats; `nil` without one.
  public var loop: String?
  /// The address of the pings; `nil` if the server's token cannot be one.
  public var pings: PingTarget?
  /// The time for which the session may be used, from the request on; at most 4 hours.
  public var window: Duration
  /// The time for which a run may last, over all its sessions; at most 4 hours.
  public var runLimit: Duration

  /// The longest life of a token, and of a run.
  public static let longest = Duration.seconds(14_400)
  /// The shortest window, below which a server has sent a number that it did not mean.
  static let shortest = Duration.seconds(30)
  private static let textLimit = 256

  /// Creates a grant; both times are clamped to 30 s to 4 h.
  public init(
    session: String, loop: String? = nil, pings: PingTarget?, window: Duration = longest, runLimit: Duration = longest
  ) {
    self.session = session
    self.loop = loop
    self.pings = pings
    self.window = min(max(window, Self.shortest), Self.longest)
    self.runLimit = min(max(runLimit, Self.shortest), Self.longest)
  }

  /// Reads the reply of a control server to a request for a session.
  ///
  /// Servers confuse the two limits, and send milliseconds for seconds: the smaller one is the window, and both are
  /// clamped.
  /// - Throws: ``CoverageError`` with code `.invalidReply` if a member is missing or out of its range.
  public init(reply: Data) throws(CoverageError) {
    guard let answer = LenientJSON(parsing: reply), case .object = answer.value else {
      throw CoverageError(.invalidReply, "request a session: the control server sent no grant")
    }
    guard let session = answer[first: "test_uuid", "testUuid"].text, Self.isIdentifier(session) else {
      throw CoverageError(.invalidReply, "request a session: the control server sent no identifier")
    }
    let loop = answer[first: "loop_uuid", "loopUuid"].text
    guard loop.map(Self.isIdentifier) ?? true else {
      throw CoverageError(.invalidReply, "request a session: the identifier of the chain is not one")
    }
    let limits = [
      answer[first: "max_coverage_session_seconds", "maxCoverageSessionSeconds"],
      answer[first: "max_coverage_measurement_seconds", "maxCoverageMeasurementSeconds"],
    ].compactMap(\.integer).filter { $0 > 0 }
    self.init(
      session: session, loop: loop, pings: try Self.target(answer),
      window: limits.min().map { .seconds(min($0, 14_400)) } ?? Self.longest,
      runLimit: limits.max().map { .seconds(min($0, 14_400)) } ?? Self.longest)
  }

  /// Returns where to send pings; `nil` for a token that is not Base64, which only another session replaces.
  private static func target(_ answer: LenientJSON) throws(CoverageError) -> PingTarget? {
    guard let host = answer[first: "ping_host", "pingHost"].text,
      let port = answer[first: "ping_port", "pingPort"].integer
    else { throw CoverageError(.invalidReply, "request a session: the control server names no ping server") }
    guard let token = answer[first: "ping_token", "pingToken"].text, let bytes = Data(base64Encoded: token),
      bytes.count == PingTarget.tokenSize
    else { return nil }
    let version = answer[first: "ip_version", "ipVersion"].integer.flatMap { [4, 6].contains($0) ? $0 : nil }
    guard let target = PingTarget(host: host, port: port, version: version, token: Array(bytes)) else {
      throw CoverageError(.invalidReply, "request a session: the address of the ping server is none")
    }
    return target
  }

  static func isIdentifier(_ text: String) -> Bool {
    (1...textLimit).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
  }
}

/// A server of pings with the token that it accepts.
public struct PingTarget: Sendable, Hashable {
  /// The name or address of the server.
  public var host: String
  /// The UDP port of the server, 1 to 65535.
  public var port: Int
  /// The version of IP, 4 or 6; `nil` for either.
  public var version: Int?
  /// The token that the server accepts, 16 bytes.
  public var token: [UInt8]

  /// The size of a token in bytes.
  public static let tokenSize = 16

  /// Creates a target; returns `nil` for an empty host, a port or version out of range, or a token of another size.
  public init?(host: String, port: Int, version: Int? = nil, token: [UInt8]) {
    guard (1...255).contains(host.utf8.count), host.utf8.allSatisfy({ (0x21...0x7e).contains($0) }),
      (1...65_535).contains(port), token.count == PingTarget.tokenSize, version.map({ $0 == 4 || $0 == 6 }) ?? true
    else { return nil }
    self.host = host
    self.port = port
    self.version = version
    self.token = token
  }
}
