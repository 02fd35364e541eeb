public import FoundationEssentials
public import JSONValues

/// A route of a control server for coverage.
public enum CoverageRoute: String, Sendable, Hashable {
  /// The request for a session.
  case request = "/coverageRequest"
  /// The result of a session.
  case result = "/coverageResult"
}

/// A connection to a control server, with limits on time and size.
public protocol CoverageTransport: Sendable {
  /// Posts members to a route and returns the reply, whatever its status.
  ///
  /// The transport adds what every request has: the identifier of the client and the description of the machine.
  /// - Parameters:
  ///   - route: The route of the server.
  ///   - members: A JSON object.
  /// - Throws: ``CoverageError``: with code `.unreachable` if the server has certainly not received the request, with
  ///   another if it may have; `CancellationError`.
  func post(_ route: CoverageRoute, members: Data) async throws -> ControlReply
}

extension CoverageTransport {
  /// Requests a session from the control server.
  /// - Parameters:
  ///   - loop: The identifier of the chain that the previous session named, if any.
  ///   - unixMs: The present time in milliseconds since 1970.
  /// - Throws: ``CoverageError``, as the transport, and with code `.declined` or `.invalidReply`; `CancellationError`.
  public func requestSession(loop: String?, unixMs: Int64) async throws -> CoverageGrant {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    let members = try encoder.encode(SessionRequest(time: unixMs, loop: loop))
    let reply = try await post(.request, members: members)
    guard reply.isSuccess, reply.errors.isEmpty else {
      throw CoverageError(.declined, "request a session: the control server declined: \(reply.reason)")
    }
    return try CoverageGrant(reply: reply.body)
  }
}

private struct SessionRequest: Encodable {
  var time: Int64
  var loop: String?

  private enum CodingKeys: String, CodingKey {
    case time
    case loop = "loop_uuid"
    case kind = "measurement_type_flag"
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(time, forKey: .time)
    try container.encodeIfPresent(loop, forKey: .loop)
    try container.encode("dedicated", forKey: .kind)
  }
}
