/// The state machine that decides whether a connection to a phone in a closed mode may stay.
///
/// A connection is established first and secured then, so each has some time to prove its identity. A connection that
/// has not done so by then is closed: it uses one of the few connections of the controller.
struct ConnectionTrial: Sendable {
  /// The properties of the connection at one instant.
  struct Evidence: Sendable, Hashable {
    var isBonded: Bool
    /// A Boolean value that indicates whether the access policy admits the peer.
    var isAdmitted: Bool
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
    guard evidence.isAdmitted else { return .disconnect(.notAllowed) }
    guard !evidence.isEncrypted else { return .keep }
    let since = bonded ?? now
    bonded = since
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
}
