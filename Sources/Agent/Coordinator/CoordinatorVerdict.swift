import FoundationEssentials

/// The meaning of a response of the coordinator, by its status alone.
enum CoordinatorVerdict: Sendable, Hashable {
  /// The coordinator has done what was requested.
  case done(Data)
  /// The coordinator does not know this machine, or does not accept its signature or token (401).
  case unauthorized(reason: String)
  /// The coordinator refuses this machine (403).
  case forbidden(reason: String)
  /// The coordinator will never accept this request (another 4xx).
  case refused(reason: String)
  /// The coordinator has not handled the request, and the same one may succeed later (408, 425, 429 and 503).
  case busy(reason: String)
  /// The coordinator failed, and a repetition may succeed.
  case failed(reason: String)

  /// The largest response that is decoded: 4 MiB.
  static let bodyLimit = 4 << 20
  /// The longest reason, in characters; a longer one is truncated.
  static let reasonLimit = 200

  init(_ answer: CoordinatorAnswer) {
    guard answer.body.count <= Self.bodyLimit else {
      self = .failed(
        reason: "the coordinator's response has \(answer.body.count) bytes; allowed: \(Self.bodyLimit) bytes")
      return
    }
    let reason = Self.reason(answer)
    switch answer.status {
    case 200..<300: self = .done(answer.body)
    case 401: self = .unauthorized(reason: reason)
    case 403: self = .forbidden(reason: reason)
    // Too slow, too early, too many, too busy.
    case 408, 425, 429, 503: self = .busy(reason: reason)
    case 400..<500: self = .refused(reason: reason)
    default: self = .failed(reason: reason)
    }
  }

  /// Returns the status with the coordinator's error and reason, if there are any.
  private static func reason(_ answer: CoordinatorAnswer) -> String {
    struct Body: Decodable {
      var error: String?
      var reason: String?

      enum Key: CodingKey { case error, reason }

      init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        error = fields.text(.error)
        reason = fields.text(.reason)
      }
    }
    let body = try? JSONDecoder().decode(Body.self, from: answer.body)
    let text = [body?.error, body?.reason.map { "(\($0))" }].compactMap(\.self).joined(separator: " ")
    return "\(answer.status)" + (text.isEmpty ? "" : " \(text.prefix(reasonLimit))")
  }
}

extension Data {
  /// Decodes a response of the coordinator.
  /// - Throws: ``AgentError`` with code `.unexpectedReply`.
  func decoded<Reply: Decodable>(as: Reply.Type, from path: String) throws(AgentError) -> Reply {
    do {
      return try JSONDecoder().decode(Reply.self, from: self)
    } catch {
      // The decoder's error could quote what was sent.
      throw AgentError(.unexpectedReply, "the coordinator's response to \(path) has an unexpected form")
    }
  }
}
