/// Which requests are signed. The coordinator takes 30 signed requests a minute and calls the next one a violation;
/// what is not signed it takes without limit.
struct SigningBudget: Sendable, Hashable {
  /// How much a signature is worth.
  enum Importance {
    /// Who asks for work, again and again.
    case welcome
    /// Who says that it lives, or what it has done.
    case needed

    /// How many signatures there may be within a minute until this one is left out.
    var limit: Int { self == .welcome ? 12 : 26 }
  }

  /// Somewhat more than the coordinator's minute, for requests arrive sooner or later.
  private static let window: Duration = .seconds(75)
  private var signatures: [Duration] = []
  private var restsUntil: Duration = .zero

  /// After the program was started again: what it had signed before nobody knows, and one that crashes again and again
  /// must not sign too often either.
  mutating func restart(at now: Duration) { restsUntil = now + Self.window }

  /// Whether a request that is sent now is signed; counts it when it is.
  mutating func take(_ importance: Importance, at now: Duration) -> Bool {
    signatures.removeAll { now - $0 >= Self.window }
    guard now >= restsUntil, signatures.count < importance.limit else { return false }
    signatures.append(now)
    return true
  }
}

extension CoordinatorMachine {
  /// How long nothing is signed after a signed request without an answer: it may have been a violation nobody has heard
  /// of. Two of these an hour, one that was heard of and one that a crash hid are fewer than the five that are a ban.
  static let unsureRest: Duration = .seconds(1820)

  mutating func signs(_ call: Call, _ importance: SigningBudget.Importance, at now: Duration) -> Bool {
    if let until = session.unsignedUntil, now < until { return false }
    guard signed == nil, budget.take(importance, at: now) else { return false }
    signed = call
    return true
  }

  mutating func rest(fromSigningUntil end: Duration) {
    session.unsignedUntil = max(end, session.unsignedUntil ?? end)
  }
}
