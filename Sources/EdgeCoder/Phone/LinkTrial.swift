/// What a link to a phone in a closed mode is worth, as time goes by.
///
/// A link is made first and secured then, so each has a while to show what it is. What has not shown it by then is
/// ended: it takes a place from others, and a controller has only a few.
///
/// A value type without clock or I/O.
struct LinkTrial: Sendable {
  /// What is known of the link at one moment.
  struct Evidence: Sendable, Hashable {
    var isBonded: Bool
    /// Whether the mode and the list of the allowed let the peer in.
    var isAdmitted: Bool
    var isEncrypted: Bool
  }

  enum Verdict: Sendable, Hashable {
    /// Somebody who may ask.
    case friend
    /// Not known yet.
    case open
    /// Somebody who may not: the link is to be ended.
    case outsider(AccessRefusal)
  }

  /// How long a bonded peer may take to encrypt the link; it takes a few connection intervals.
  static let encryptionLimit = Duration.seconds(5)
  /// How long a stranger may take to pair: the Security Manager Protocol gives up after 30 s without a packet (Core
  /// Specification 3.H.3.4), and a person decides in between.
  static let pairingLimit = Duration.seconds(60)

  private let began: Duration
  private var bonded: Duration?

  /// A trial of a link that is there since now.
  init(at now: Duration) { began = now }

  mutating func verdict(on evidence: Evidence, at now: Duration) -> Verdict {
    guard evidence.isBonded else {
      return now - began < Self.pairingLimit ? .open : .outsider(.neverPaired)
    }
    guard evidence.isAdmitted else { return .outsider(.notAllowed) }
    guard !evidence.isEncrypted else { return .friend }
    let since = bonded ?? now
    bonded = since
    return now - since < Self.encryptionLimit ? .open : .outsider(.neverEncrypted)
  }
}

/// Why a phone in a closed mode turned somebody away.
public enum AccessRefusal: String, Sendable, Hashable, CaseIterable {
  /// It has not paired, and was linked for a minute.
  case neverPaired = "it has not paired"
  /// It uses the address of a bonded peer but has not its key.
  case neverEncrypted = "it did not encrypt the link"
  /// It is bonded but not one of those that are allowed.
  case notAllowed = "it is not on the list"
}
