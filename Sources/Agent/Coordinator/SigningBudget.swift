/// The decision which requests are signed.
///
/// The coordinator accepts 30 signed requests a minute and counts the next one as a violation; unsigned requests it
/// accepts without limit. Five violations within an hour are a ban.
struct SigningBudget: Sendable, Hashable {
  /// The importance of a signature.
  enum Importance {
    /// The repeated requests for work.
    case welcome
    /// A heartbeat or a result.
    case needed

    /// The number of signatures within a minute above which this one is left out.
    var limit: Int { self == .welcome ? 12 : 26 }
  }

  /// The duration over which signatures count: 75 s, longer than the coordinator's minute, because requests arrive
  /// sooner or later.
  private static let window: Duration = .seconds(75)
  /// The duration without signatures after a signed request without a response: 1,820 s.
  ///
  /// The request may have been a violation that was never reported. Two of these an hour, one that was reported and one
  /// that a crash hid are fewer than the five that are a ban.
  static let unsureRest: Duration = .seconds(1820)
  /// The duration without signatures after one was rejected: 1 h.
  static let rejectedRest: Duration = CoordinatorSession.registrationWindow

  private var signatures: [Duration] = []
  private var restsUntil: Duration = .zero
  /// The signed request under way: one at a time, so that a rejected signature is one violation.
  private var pending: CoordinatorMachine.Call?
  /// The instant until which requests are not signed, because a signature was rejected or may have been.
  private(set) var unsignedUntil: Duration?

  /// Creates a budget with the restored state.
  init(unsignedUntil: Duration? = nil) { self.unsignedUntil = unsignedUntil }

  /// Stops signing for a while after a restart of the program: the number of its earlier signatures is unknown, and a
  /// program that crashes repeatedly must not sign too often either.
  mutating func restart(at now: Duration) { restsUntil = now + Self.window }

  /// Returns `true` if a request that is sent now is to be signed, and then counts it.
  mutating func take(_ call: CoordinatorMachine.Call, _ importance: Importance, at now: Duration) -> Bool {
    if let unsignedUntil, now < unsignedUntil { return false }
    guard pending == nil, take(importance, at: now) else { return false }
    pending = call
    return true
  }

  private mutating func take(_ importance: Importance, at now: Duration) -> Bool {
    signatures.removeAll { now - $0 >= Self.window }
    guard now >= restsUntil, signatures.count < importance.limit else { return false }
    signatures.append(now)
    return true
  }

  /// Notes that a request has ended.
  mutating func ended(_ call: CoordinatorMachine.Call, isUnsure: Bool, at now: Duration) {
    guard pending == call else { return }
    pending = nil
    if isUnsure { rest(until: now + Self.unsureRest) }
  }

  /// Stops signing for an hour, because the coordinator rejected a signature; unsigned requests are as good.
  /// - Returns: `false` if requests were unsigned already, so that the signature cannot be the cause.
  mutating func reject(at now: Duration) -> Bool {
    let wasSigning = unsignedUntil.map { $0 <= now } ?? true
    rest(until: now + Self.rejectedRest)
    return wasSigning
  }

  /// Signs again: the coordinator had forgotten this machine, which also explains why it could not verify a signature.
  mutating func forgotten() { unsignedUntil = nil }

  private mutating func rest(until end: Duration) { unsignedUntil = max(end, unsignedUntil ?? end) }
}
