internal import FoundationEssentials
internal import JSONValues
internal import Timing

/// The rules of sending stored sessions that depend on nothing but their arguments.
enum ResendRules {
  /// The age after which a session is removed unsent: 7 days.
  static let longestAgeUs: Int64 = 7 * 86_400 * 1_000_000
  /// The age from which on a session of an older version, which marked no end, counts as over: 15 minutes.
  static let legacyAgeUs: Int64 = 15 * 60 * 1_000_000
  /// The number of refusals after which a session is not sent again.
  static let refusalLimit = 5
  /// The delays between attempts.
  static let backoff = Backoff(base: .seconds(30), limit: .seconds(3600), jitter: 0.5...1)

  /// Returns `true` if a finished session may be sent now.
  static func isDue(_ session: CoverageSession, nowUs: Int64) -> Bool {
    guard session.finalizedUs != nil, session.fences > 0, session.sending.refusals < refusalLimit else { return false }
    guard let notBefore = session.sending.notBeforeUs else { return true }
    // A delay that is longer than any was begun before the clock was set back.
    let longest = Int64(backoff.limit.components.seconds) * 1_000_000
    return notBefore <= nowUs || notBefore > nowUs.addingClamped(longest)
  }

  /// What became of an attempt.
  enum Verdict: Sendable, Hashable {
    /// The server has the session.
    case delivered
    /// The server has not taken it, and may later; and whether it may have it all the same.
    case retry(String, isUnconfirmed: Bool)
    /// The server does not want it as it is.
    case refused(String)
  }

  /// Returns what a reply says.
  /// - Parameters:
  ///   - reply: The reply.
  ///   - wasUnconfirmed: Whether the server may have the session from an earlier attempt.
  static func verdict(_ reply: ControlReply, wasUnconfirmed: Bool) -> Verdict {
    let errors = reply.errors
    switch reply.status {
    case 200..<300 where errors.isEmpty:
      // The page of a captive portal has the status of a success, too.
      return isObject(reply.body)
        ? .delivered : .retry("the reply is not one of a control server", isUnconfirmed: wasUnconfirmed)
    case 408, 500...: return .retry(reply.reason, isUnconfirmed: true)
    // What answers with these has stored nothing: a redirect, a limit, or a proxy in the server's place.
    case 300..<400, 429,
      401..<500 where errors.isEmpty:
      return .retry(reply.reason, isUnconfirmed: wasUnconfirmed)
    case 200..<500:
      let isUnknown = errors.contains { $0.lowercased().contains("no started test") }
      return isUnknown && wasUnconfirmed ? .delivered : .refused(reply.reason)
    default: return .retry(reply.reason, isUnconfirmed: true)
    }
  }

  /// Returns what an error of the connection says.
  static func verdict(_ error: CoverageError, wasUnconfirmed: Bool) -> Verdict {
    .retry(error.message, isUnconfirmed: wasUnconfirmed || error.code != .unreachable)
  }

  private static func isObject(_ body: Data) -> Bool {
    struct Anything: Decodable {
      init(from decoder: any Decoder) throws { _ = try decoder.container(keyedBy: Key.self) }
    }
    struct Key: CodingKey {
      var stringValue: String
      var intValue: Int? { nil }
      init?(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }
    return (try? JSONDecoder().decode(Anything.self, from: body)) != nil
  }

  /// Returns what to store after an attempt that has not delivered.
  /// - Parameters:
  ///   - verdict: What became of the attempt.
  ///   - sending: What was stored before it.
  ///   - nowUs: The present time in microseconds since 1970.
  ///   - random: The place within the jitter's range, 0 to 1.
  static func next(
    after verdict: Verdict, _ sending: CoverageSession.Sending, nowUs: Int64, random: Double
  ) -> CoverageSession.Sending {
    var next = sending
    next.attempts += 1
    switch verdict {
    case .delivered: return next
    case .retry(let reason, let isUnconfirmed):
      next.isUnconfirmed = isUnconfirmed
      next.problem = reason
    case .refused(let reason):
      next.isUnconfirmed = false
      next.refusals += 1
      next.problem = reason
    }
    let delay = backoff.delay(afterFailures: next.attempts, random: random)
    next.notBeforeUs = nowUs.addingClamped(StoredFence.microseconds(delay))
    return next
  }
}
