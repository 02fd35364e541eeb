internal import JSONValues

/// A test that a control server has granted: the measurement server, the token, and the size of the test.
public struct ControlTest: Sendable, Hashable {
  /// The variant of the protocol that the measurement server uses.
  public enum Kind: String, Sendable, Hashable {
    /// The server sends the greeting first.
    case raw = "RMBT"
    /// The connection begins with an HTTP upgrade.
    case http = "RMBThttp"
  }

  /// The size of a test, as far as a server names it; impossible numbers are moved into the allowed range.
  public struct Size: Sendable, Hashable {
    /// The duration of each direction in seconds, in the range 1 to 30.
    public var seconds: Int?
    /// The number of connections, in the range 1 to 120.
    public var threads: Int?
    /// The smallest number of round trips, in the range 1 to 200.
    public var pings: Int?
  }

  /// The identifier of the test, without a letter before it.
  public var id: String
  /// The public identifier of the test, if the server has sent one.
  public var openID: String?
  /// The token that authorises the client at the measurement server, and its result at the control server.
  package var token: String
  /// The name or the address of the measurement server.
  public var host: String
  /// The port of the measurement server.
  public var port: Int
  /// The name of the measurement server, for display.
  public var name: String?
  /// The variant of the protocol.
  public var kind: Kind
  /// A Boolean value that indicates whether the connections use TLS.
  public var isEncrypted: Bool
  /// The size of the test, as far as the server names it.
  public var size: Size
  /// The time to wait before the test begins, at most a minute.
  public var wait: Duration
  /// The address of this client as the control server sees it.
  public var clientAddress: String?
  /// The provider of the client's address, for display.
  public var provider: String?
  /// The identifier of the loop that the server has assigned, without a letter before it.
  public var loopID: String?
  /// The address that takes the result; `nil` for the usual one.
  var resultURL: ControlURL?
  /// The address that takes the results of the QoS tests; `nil` for the usual one.
  var qosResultURL: ControlURL?

  /// The longest wait before a test that a client accepts, in seconds.
  static let longestWait = 60

  /// Reads the grant of a test.
  /// - Throws: ``SpeedTestError`` with code `.invalidReply` if a member is missing without which no test can run.
  init(_ members: JSONValue) throws(SpeedTestError) {
    let members = LenientJSON(members)
    func missing(_ key: String) -> SpeedTestError {
      SpeedTestError(.invalidReply, "request a test: the control server sent no usable \(key)")
    }
    guard let id = ControlIdentifier.uuid(members["test_uuid"].text) else { throw missing("test_uuid") }
    guard let token = members["test_token"].text, Self.isToken(token) else { throw missing("test_token") }
    guard let host = members["test_server_address"].text, Self.isHost(host) else {
      throw missing("test_server_address")
    }
    guard let port = members["test_server_port"].integer, (1...65_535).contains(port) else {
      throw missing("test_server_port")
    }
    // Without a type, a server is one of the first ones.
    guard let kind = Kind(rawValue: members["test_server_type"].text ?? Kind.raw.rawValue) else {
      throw missing("test_server_type")
    }
    self.id = id
    self.token = token
    self.host = host
    self.port = port
    self.kind = kind
    openID = ControlIdentifier.uuid(members["open_test_uuid"].text)
    name = members["test_server_name"].text
    isEncrypted = members["test_server_encryption"].flag ?? false
    size = Size(
      seconds: members["test_duration"].integer.map { Self.clamp($0, SpeedTestPlan.allowedSeconds) },
      threads: members["test_numthreads"].integer.map { Self.clamp($0, SpeedTestPlan.allowedThreads) },
      pings: members["test_numpings"].integer.map { Self.clamp($0, 1...200) })
    wait = .seconds(Self.clamp(members["test_wait"].integer ?? 0, 0...Self.longestWait))
    clientAddress = members["client_remote_ip"].text
    provider = members["provider"].text
    loopID = ControlIdentifier.uuid(members["loop_uuid"].text)
    resultURL = ControlURL(members["result_url"].text)
    qosResultURL = ControlURL(members["result_qos_url"].text)
  }

  private static func clamp(_ value: Int, _ range: ClosedRange<Int>) -> Int {
    min(max(value, range.lowerBound), range.upperBound)
  }

  /// Returns `true` for a text that fits in the line `TOKEN`; a space or a newline would begin another command.
  private static func isToken(_ text: String) -> Bool {
    text.utf8.count <= 1000 && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
  }

  private static func isHost(_ text: String) -> Bool {
    text.utf8.count <= 253 && text.utf8.allSatisfy { (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "/") }
  }
}
