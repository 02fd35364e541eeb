/// The state that must survive a restart of the program: the enrolment, the token, and everything that counts towards
/// the coordinator's rules of conduct.
///
/// Instants are those of the agent's clock; an instant before the start of the program is negative.
struct CoordinatorSession: Sendable, Hashable {
  /// The enrolment as far as it is known.
  enum Enrolment: Sendable, Hashable {
    /// The coordinator does not know this machine.
    case unregistered
    /// A registration was sent, and its result is unknown. The next heartbeat finds out, and costs nothing.
    case uncertain
    /// The coordinator knows this machine. A token is no sign of it: not every coordinator issues one.
    case registered
  }

  /// The enrolment as far as it is known.
  var enrolment = Enrolment.unregistered
  /// The token that every request carries; `nil` when the coordinator issued none.
  var meshToken: String?
  /// The instants of the registrations within ``registrationWindow`` that may have arrived.
  var registrations: [Duration] = []
  /// The heartbeats that count for the coordinator's check for gaps.
  var heartbeats = HeartbeatHistory.none
  /// The instant until which requests are not signed, because a signature was rejected.
  var unsignedUntil: Duration?
  /// The instant until which only heartbeats are sent, because there was a gap.
  var quietUntil: Duration?
  /// The instant until which results of the past may be unknown, so that nothing but heartbeats is sent in any case.
  var unknownUntil: Duration?
  /// The instants of results that were sent after a gap, and so may be strikes.
  var strikes: [Duration] = []
  /// The results of the last hour.
  var conduct = Conduct()

  /// The longest gap between heartbeats: 285 s, the coordinator's 5 min less some time for a slow request.
  ///
  /// After a longer gap each result is a strike, until the heartbeat before the gap is an hour old.
  static let longestSilence: Duration = .seconds(285)
  /// The duration after a gap during which only heartbeats are sent: a little longer than the coordinator counts,
  /// because a heartbeat is written to disk once a minute.
  static let quiet: Duration = registrationWindow + .seconds(90)
  /// The duration over which the coordinator counts: 1 h. Ten registrations in it are a strike, three strikes a ban.
  static let registrationWindow: Duration = .seconds(3600)
  /// The shortest delay between two registrations: 15 s; it doubles with each registration in the window.
  ///
  /// The sum of eight such delays exceeds the window, so that there are never nine registrations in it.
  static let registrationPause: Duration = .seconds(15)
}
