import FoundationEssentials

/// What an answer of the coordinator comes to, before anybody looks at what it says.
enum CoordinatorVerdict: Sendable, Hashable {
  /// It has done what it was asked.
  case done(Data)
  /// It does not know who asks, or does not believe it (401).
  case unauthorized(reason: String)
  /// It knows, and will not (403).
  case forbidden(reason: String)
  /// It will never take this request (another 4xx).
  case refused(reason: String)
  /// It could not, this time.
  case failed(reason: String)

  /// The largest answer that is looked at, in bytes: 4 MiB.
  static let bodyLimit = 4 << 20
  /// The longest reason, in characters.
  static let reasonLimit = 200

  init(_ answer: CoordinatorAnswer) {
    guard answer.body.count <= Self.bodyLimit else {
      self = .failed(reason: "the coordinator's answer has more than \(Self.bodyLimit) bytes")
      return
    }
    let reason = Self.reason(answer)
    switch answer.status {
    case 200..<300: self = .done(answer.body)
    case 401: self = .unauthorized(reason: reason)
    case 403: self = .forbidden(reason: reason)
    // Too late, too early, too many: the same request may do later.
    case 408, 425, 429: self = .failed(reason: reason)
    case 400..<500: self = .refused(reason: reason)
    default: self = .failed(reason: reason)
    }
  }

  /// The error and its reason in the coordinator's own words, or the status.
  private static func reason(_ answer: CoordinatorAnswer) -> String {
    struct Body: Decodable {
      var error: String?
      var reason: String?

      enum Key: CodingKey { case error, reason }

      init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        (error, reason) = (fields.text(.error), fields.text(.reason))
      }
    }
    let body = try? JSONDecoder().decode(Body.self, from: answer.body)
    let text = [body?.error, body?.reason.map { "(\($0))" }].compactMap(\.self).joined(separator: " ")
    return "\(answer.status)" + (text.isEmpty ? "" : " \(text.prefix(reasonLimit))")
  }
}

extension Data {
  /// What a coordinator says, as `Reply`.
  /// - Throws: ``AgentError`` with code `.unexpectedReply`.
  func decoded<Reply: Decodable>(as: Reply.Type, from path: String) throws(AgentError) -> Reply {
    do {
      return try JSONDecoder().decode(Reply.self, from: self)
    } catch {
      // What exactly is wrong could quote what was sent.
      throw AgentError(.unexpectedReply, "the coordinator's answer to \(path) is not what it should be")
    }
  }
}
