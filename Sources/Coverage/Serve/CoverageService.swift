public import FoundationEssentials

/// The answers of a control server for one's own fleet: it grants sessions, and stores their results.
///
/// It knows no HTTP: its caller passes the path and the body of each request.
public struct CoverageService: Sendable {
  /// The server of pings that clients are sent to.
  public struct Pings: Sendable, Hashable {
    /// The name or address of the server, as clients can reach it.
    public var host: String
    /// The UDP port of the server.
    public var port: Int

    /// Creates a server of pings from its address.
    public init(host: String, port: Int) {
      self.host = host
      self.port = port
    }
  }

  /// The settings of a server.
  public struct Options: Sendable {
    /// The server of pings that each grant names.
    public var pings: Pings
    /// The time for which a session may be used, 30 s to 4 hours, which is the default.
    public var window = CoverageGrant.longest
    /// The time for which a run may last, 30 s to 4 hours, which is the default.
    public var runLimit = CoverageGrant.longest

    /// Creates settings for a server of pings.
    public init(pings: Pings) { self.pings = pings }
  }

  /// The answer to a request.
  public struct Answer: Sendable, Hashable {
    /// The status code of the response.
    public var status: Int
    /// The body of the response, a JSON object.
    public var body: Data
  }

  /// The largest body of a request in bytes.
  public static let bodyLimit = 8 << 20

  private let archive: CoverageArchive
  private let options: Options
  private let token: @Sendable (_ address: String) -> [UInt8]?

  /// Creates a service that answers from an archive.
  /// - Parameters:
  ///   - archive: The clients and sessions.
  ///   - options: The settings.
  ///   - token: A function that returns the token that the server of pings accepts from an address, 16 bytes; `nil` for
  ///     an address that can have none.
  public init(archive: CoverageArchive, options: Options, token: @escaping @Sendable (_ address: String) -> [UInt8]?) {
    self.archive = archive
    self.options = options
    self.token = token
  }

  /// Returns the answer to a request.
  /// - Parameters:
  ///   - path: The path of the request, with or without that of other control servers before it.
  ///   - body: The body of the request.
  ///   - address: The address of the client.
  /// - Throws: ``CoverageError`` with code `.storage` or `.noSpace` if the archive cannot be written; the client repeats
  ///   the request later.
  public func answer(to path: String, _ body: Data, from address: String) throws -> Answer {
    let prefix = "/RMBTControlServer"
    let route = path.hasPrefix(prefix + "/") ? String(path.dropFirst(prefix.count)) : path
    do {
      switch route {
      case "/settings": return try settings(ServedRequest(body))
      case CoverageRoute.request.rawValue: return try grant(ServedRequest(body), address)
      case CoverageRoute.result.rawValue: return try receive(ServedRequest(body))
      default: return Self.refusal("there is nothing here", 404)
      }
    } catch let refusal as ServedRequest.Refusal {
      return Self.refusal(refusal.reason, refusal.status)
    }
  }

  private func settings(_ request: ServedRequest) throws -> Answer {
    guard let client = try archive.client(request.clientID) else {
      throw ServedRequest.Refusal("the server takes no further clients", status: 503)
    }
    return try Self.answer(200, Settings(settings: [.init(uuid: client)]))
  }

  private func grant(_ request: ServedRequest, _ address: String) throws -> Answer {
    guard let client = request.clientID else { throw ServedRequest.Refusal("client_uuid is missing") }
    guard let time = request.time else { throw ServedRequest.Refusal("time is missing") }
    let kinds = ["regular", "dedicated", "loop_active", "loop_waiting"]
    guard request.kind.map({ kinds.contains($0) }) ?? true else {
      throw ServedRequest.Refusal("measurement_type_flag is none of \(kinds.joined(separator: ", "))")
    }
    guard let token = token(address), token.count == PingTarget.tokenSize else {
      throw ServedRequest.Refusal("the address of the client has no token", status: 500)
    }
    let granted = try archive.grant(client, loop: request.loop, requestMs: time)
    return try Self.answer(
      201,
      Grant(
        testUuid: granted.uuid, loopUuid: granted.loop, loopTestCounter: granted.counter,
        pingToken: Data(token).base64EncodedString(), pingHost: options.pings.host,
        pingPort: "\(options.pings.port)", ipVersion: address.contains(":") ? 6 : 4,
        maxCoverageSessionSeconds: options.runLimit.components.seconds,
        maxCoverageMeasurementSeconds: options.window.components.seconds, clientRemoteIp: address))
  }

  private func receive(_ request: ServedRequest) throws -> Answer {
    guard let client = request.clientID else { throw ServedRequest.Refusal("client_uuid is missing") }
    guard let session = request.session else { throw ServedRequest.Refusal("test_uuid is missing") }
    guard let fences = request.fences else { throw ServedRequest.Refusal("fences is missing") }
    try archive.receive(fences, of: session, from: client)
    return Answer(status: 200, body: Data("{}".utf8))
  }

  // MARK: Bodies

  /// Returns an answer with the reason for which a request is refused, in the form of other control servers.
  package static func refusal(_ reason: String, _ status: Int) -> Answer {
    (try? answer(status, ["error": [String(reason.prefix(200))]])) ?? Answer(status: status, body: Data("{}".utf8))
  }

  private static func answer(_ status: Int, _ value: some Encodable) throws -> Answer {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.keyEncodingStrategy = .convertToSnakeCase
    return Answer(status: status, body: try encoder.encode(value))
  }

  private struct Settings: Encodable {
    struct One: Encodable { var uuid: String }
    var settings: [One]
    var error: [String] = []
  }

  /// The members of a grant, whose names clients read in snake case.
  private struct Grant: Encodable {
    var testUuid: String
    var loopUuid: String
    var loopTestCounter: Int
    var pingToken: String
    var pingHost: String
    var pingPort: String
    var ipVersion: Int
    var maxCoverageSessionSeconds: Int64
    var maxCoverageMeasurementSeconds: Int64
    var clientRemoteIp: String
    var error: [String] = []
  }
}
