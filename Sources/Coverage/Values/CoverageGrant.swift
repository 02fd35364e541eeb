public import FoundationEssentials

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
    guard let answer = try? JSONDecoder().decode(Answer.self, from: reply) else {
      throw CoverageError(.invalidReply, "request a session: the control server sent no grant")
    }
    guard let session = answer.testUUID, Self.isIdentifier(session) else {
      throw CoverageError(.invalidReply, "request a session: the control server sent no identifier")
    }
    if let loop = answer.loopUUID, !Self.isIdentifier(loop) {
      throw CoverageError(.invalidReply, "request a session: the identifier of the chain is not one")
    }
    let limits = [answer.sessionSeconds, answer.measurementSeconds].compactMap { $0?.value }.filter { $0 > 0 }
    self.init(
      session: session, loop: answer.loopUUID, pings: try answer.target(),
      window: limits.min().map { .seconds(min($0, 14_400)) } ?? Self.longest,
      runLimit: limits.max().map { .seconds(min($0, 14_400)) } ?? Self.longest)
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

/// The members of a reply that matter; each name also in the other spelling that servers use.
private struct Answer: Decodable {
  var testUUID: String?
  var loopUUID: String?
  var token: String?
  var host: String?
  var port: LenientInteger?
  var version: LenientInteger?
  var sessionSeconds: LenientInteger?
  var measurementSeconds: LenientInteger?

  private struct Key: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    func first<Value: Decodable>(_ type: Value.Type, _ names: String...) throws -> Value? {
      for name in names {
        if let value = try members.decodeIfPresent(type, forKey: Key(name)) { return value }
      }
      return nil
    }
    testUUID = try first(String.self, "test_uuid", "testUuid")
    loopUUID = try first(String.self, "loop_uuid", "loopUuid")
    token = try first(String.self, "ping_token", "pingToken")
    host = try first(String.self, "ping_host", "pingHost")
    port = try first(LenientInteger.self, "ping_port", "pingPort")
    version = try first(LenientInteger.self, "ip_version", "ipVersion")
    sessionSeconds = try first(LenientInteger.self, "max_coverage_session_seconds", "maxCoverageSessionSeconds")
    measurementSeconds = try first(
      LenientInteger.self, "max_coverage_measurement_seconds", "maxCoverageMeasurementSeconds")
  }

  /// Returns where to send pings; `nil` for a token that is not Base64, which only another session replaces.
  func target() throws(CoverageError) -> PingTarget? {
    guard let host, let port = port?.value else {
      throw CoverageError(.invalidReply, "request a session: the control server names no ping server")
    }
    guard let token, let bytes = Data(base64Encoded: token), bytes.count == PingTarget.tokenSize else { return nil }
    let known = version?.value.flatMap { [4, 6].contains($0) ? Int($0) : nil }
    guard (1...65_535).contains(port),
      let target = PingTarget(host: host, port: Int(port), version: known, token: Array(bytes))
    else {
      throw CoverageError(.invalidReply, "request a session: the address of the ping server is none")
    }
    return target
  }
}

/// A whole number that servers also send as a string or with a fraction of zero; `nil` for anything else.
private struct LenientInteger: Decodable {
  var value: Int64?

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let number = try? container.decode(Int64.self) {
      value = number
    } else if let number = try? container.decode(Double.self) {
      value = Int64(exactly: number)
    } else if let text = try? container.decode(String.self) {
      value = Int64(text)
    }
  }
}
