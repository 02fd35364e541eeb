/// The conduct of this machine after a gap in its heartbeats, which makes each result of the next hour a strike.
public enum AfterGap: String, Sendable, Hashable, CaseIterable {
  /// Work goes on, at the price of at most two strikes within an hour.
  case work
  /// Nothing but heartbeats is sent for an hour.
  case wait
}

/// The results that may be sent after a gap in the heartbeats, each of which is a strike: three within an hour are a ban.
struct GapAllowance: Sendable, Hashable {
  /// The number of results within an hour: 2, one less than are a ban.
  static let limit = 2
  /// The duration over which strikes count: an hour, and as long as a request may take.
  private static let window = CoordinatorSession.registrationWindow + .seconds(30)

  /// The instants of the results that may have been strikes.
  private(set) var strikes: [Duration]
  /// The instant until which nothing but heartbeats is sent in any case, because results of the past may be unknown.
  let unknownUntil: Duration?
  /// A Boolean value that indicates whether the result under way was counted.
  private var hasCounted = false

  /// Creates an allowance with the restored state.
  init(_ session: CoordinatorSession) {
    strikes = session.strikes
    unknownUntil = session.unknownUntil
  }

  /// Returns the instant until which nothing but heartbeats is sent after a gap; `nil` while there is none.
  /// - Parameters:
  ///   - quietUntil: The instant until which results are strikes.
  ///   - pending: The number of results that are waiting or to be expected.
  ///   - conduct: The choice of the user.
  func quietUntil(_ quietUntil: Duration?, pending: Int, _ conduct: AfterGap, at now: Duration) -> Duration? {
    guard conduct == .work, let quietUntil, now < quietUntil else { return quietUntil }
    if let unknownUntil, now < unknownUntil { return quietUntil }
    let recent = strikes.filter { now - $0 < Self.window }
    if recent.count + pending <= Self.limit { return nil }
    return quietUntil
  }

  /// Counts a result that is about to be sent, if it may be a strike.
  mutating func send(at now: Duration, quietUntil: Duration?) {
    hasCounted = quietUntil.map { now < $0 } ?? false
    if hasCounted { strikes = strikes.filter { now - $0 < Self.window } + [now] }
  }

  /// Discounts the result under way, which certainly has not arrived.
  mutating func takeBack() {
    if hasCounted, !strikes.isEmpty { strikes.removeLast() }
    hasCounted = false
  }
}
