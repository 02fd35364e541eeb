/// The state machine that decides whether a connection to a phone in a closed mode may stay.
///
/// A connection is established first and secured then, so each has some time to prove its identity. A connection that
/// has not done so by then is closed: it uses one of the few connections of the controller.
struct ConnectionTrial: Sendable {
  /// The properties of the connection at one instant.
  struct Evidence: Sendable, Hashable {
    var isBonded: Bool
    /// The reason why the access policy does not admit the bonded peer; `nil` if it does.
    var refusal: AccessRefusal?
    var isEncrypted: Bool
  }

  enum Action: Sendable, Hashable {
    /// Keep the connection: its peer is permitted.
    case keep
    /// Look again later.
    case wait
    /// Disconnect the peer, which is not permitted.
    case disconnect(AccessRefusal)
  }

  /// The time in which a bonded peer must encrypt the connection; encryption takes a few connection intervals.
  static let encryptionTimeout = Duration.seconds(5)
  /// The time in which an unknown peer must pair.
  ///
  /// The Security Manager Protocol times out after 30 s without a packet (Core Specification 3.H.3.4), and a user decides
  /// in between.
  static let pairingTimeout = Duration.seconds(60)

  private let started: Duration
  private var bonded: Duration?

  /// Creates a trial of a connection that exists since now.
  init(at now: Duration) { started = now }

  mutating func handle(_ evidence: Evidence, at now: Duration) -> Action {
    guard evidence.isBonded else {
      return now - started < Self.pairingTimeout ? .wait : .disconnect(.neverPaired)
    }
    let since = bonded ?? now
    bonded = since
    if let refusal = evidence.refusal {
      // The program that pairs adds the bond to the list when it was made. Until then the peer has no access.
      return refusal == .notAdmitted && now - since < Self.encryptionTimeout ? .wait : .disconnect(refusal)
    }
    guard !evidence.isEncrypted else { return .keep }
    return now - since < Self.encryptionTimeout ? .wait : .disconnect(.neverEncrypted)
  }
}

/// The reason why a phone in a closed mode refused a central.
public enum AccessRefusal: String, Sendable, Hashable, CaseIterable {
  /// The central has not paired within a minute, or sent a request before pairing.
  case neverPaired = "it has not paired"
  /// The central uses the address of a bonded peer and does not have its key.
  case neverEncrypted = "it did not encrypt the link"
  /// The central is bonded and not on the allow list.
  case notAllowed = "it is not on the list"
  /// The central is bonded, and a user has not admitted this bond.
  case notAdmitted = "its bond was not made for this phone"
  /// The central bonded anew under the identity of an admitted one, which is not admitted any more.
  case identityClaimed = "it claimed the identity of an admitted device"
}
