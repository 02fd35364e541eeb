public import FoundationEssentials
public import JSONValues

/// A transport that carries requests to control servers, with limits on time and size.
public protocol ControlTransport: Sendable {
  /// Posts a JSON document and returns the reply, whatever its status, without following redirects.
  /// - Parameters:
  ///   - url: The address, with the scheme `http` or `https`.
  ///   - body: The document to post.
  /// - Throws: ``SpeedTestError``: with code `.unreachable` if the server has certainly not received the request, with
  ///   `.timedOut`, `.connectionClosed` or `.invalidReply` if it may have; `CancellationError`.
  func post(_ url: String, body: Data) async throws -> ControlReply
}

extension ControlTransport {
  /// The largest reply in bytes that a transport returns: 1 MiB.
  public static var bodyLimit: Int { 1 << 20 }
}

/// A reply as the protocol of control servers reads it: members, and errors also where the status is 200.
struct ControlAnswer {
  let reply: ControlReply
  let members: JSONValue
  let errors: [String]

  /// Reads a reply.
  /// - Throws: ``SpeedTestError`` with code `.invalidReply` for a success that is no JSON object, as that of a captive
  ///   portal.
  init(_ reply: ControlReply) throws(SpeedTestError) {
    self.reply = reply
    if let reader = LenientJSON(parsing: reply.body), case .object = reader.value {
      members = reader.value
      errors = reader.errors
    } else if reply.isSuccess {
      throw SpeedTestError(.invalidReply, "the control server sent no JSON object")
    } else {
      members = .null
      errors = []
    }
  }

  /// Returns the members of a success without errors.
  /// - Throws: ``SpeedTestError`` with code `.declined`, which contains the reason of the server.
  func success(_ operation: String) throws(SpeedTestError) -> JSONValue {
    guard reply.isSuccess, errors.isEmpty else { throw declined(operation) }
    return members
  }

  func declined(_ operation: String) -> SpeedTestError {
    SpeedTestError(.declined, "\(operation): the control server declined: \(reply.reason)")
  }
}
