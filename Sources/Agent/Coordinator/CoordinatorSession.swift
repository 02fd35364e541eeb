/// What a coordinator and this machine have agreed on, and what must not be forgotten by a restart: whether it is
/// registered, its token, and what counts towards the coordinator's rules of conduct.
///
/// Instants are those of the agent's clock; what was before its beginning is negative.
struct CoordinatorSession: Sendable, Hashable {
  /// Whether the coordinator knows this machine, as far as that is known. A token is no sign of it: not every
  /// coordinator gives one.
  var isRegistered = false
  /// Whether a registration was sent whose fate is not known: a heartbeat tells, and costs nothing.
  var mayBeRegistered = false
  /// What every request carries; `nil` when the coordinator wants none.
  var meshToken: String?
  /// When registrations were sent that may have arrived, within ``registrationWindow``.
  var registrations: [Duration] = []
  /// When the coordinator took the last heartbeat.
  var lastHeartbeat: Duration?
  /// When the first heartbeat was sent of which nobody knows whether the coordinator took it; `nil` once it took one.
  var firstHeartbeat: Duration?
  /// When the last heartbeat was sent of which nobody knows; `nil` as above.
  var unsureHeartbeat: Duration?
  /// When the heartbeat was sent that is under way, after a long silence: nobody knows of it either, should the program
  /// be killed before there is an answer.
  var sentHeartbeat: Duration?
  /// Until when requests are not signed, since a signature was refused.
  var unsignedUntil: Duration?

  /// Until when nothing but heartbeats is sent, since there were none for a while.
  var quietUntil: Duration?
  /// What the results of the last hour look like.
  var conduct = Conduct()

  /// How long there may be no heartbeat: the coordinator's 5 min, less some for a request that takes its time. After a
  /// longer pause each result is a strike, until the heartbeat before the pause is an hour ago.
  static let longestSilence: Duration = .seconds(285)
  /// For how long nothing but heartbeats is sent after a silence: somewhat longer than the coordinator counts, for a
  /// heartbeat is written down once a minute.
  static let quiet: Duration = registrationWindow + .seconds(90)
  /// Over how long the coordinator counts: 1 h. Ten registrations within it are a strike, three strikes a ban.
  static let registrationWindow: Duration = .seconds(3600)
  /// The least time between two registrations; it doubles with each within the window. The sum of eight such pauses is
  /// longer than the window, so that there are never nine registrations in it.
  static let registrationPause: Duration = .seconds(15)

  /// From when on a registration may be sent.
  func registrationAllowed(at now: Duration) -> Duration {
    let recent = registrations.filter { now - $0 < Self.registrationWindow }
    guard let last = recent.max() else { return now }
    return last + Self.registrationPause * (1 << min(recent.count - 1, 16))
  }

  /// A heartbeat is about to be sent.
  mutating func sendHeartbeat(at now: Duration) {
    guard let lastHeartbeat else { return firstHeartbeat = firstHeartbeat ?? now }
    if now - lastHeartbeat > Self.longestSilence { sentHeartbeat = now }
  }

  /// The coordinator has taken a heartbeat.
  mutating func noteHeartbeat(at now: Duration) {
    if let last = lastHeartbeat ?? firstHeartbeat, now - last > Self.longestSilence {
      // The coordinator may have taken one in between, after which there was still a long silence.
      let latest = max(last, min(unsureHeartbeat ?? last, now - Self.longestSilence))
      let end = latest + Self.quiet
      // One that was set because nobody knew what had happened ends no sooner for what is known.
      if end > now { quietUntil = max(end, quietUntil ?? end) }
    }
    (lastHeartbeat, firstHeartbeat, unsureHeartbeat, sentHeartbeat) = (now, nil, nil, nil)
  }

  /// The coordinator has forgotten this machine, and so all that it counted.
  mutating func forgotten(at now: Duration) {
    // It still knew the machine when it took the last heartbeat, whose answer took 15 s at most.
    let known = lastHeartbeat.map { $0 - CoordinatorRunner.answerLimit }
    conduct.forget(beforeMs: known?.wholeMilliseconds ?? .min, atMs: now.wholeMilliseconds)
    (isRegistered, mayBeRegistered) = (false, false)
    (lastHeartbeat, firstHeartbeat, unsureHeartbeat, sentHeartbeat) = (nil, nil, nil, nil)
    (quietUntil, unsignedUntil) = (nil, nil)
  }

  mutating func noteRegistration(at now: Duration) {
    registrations = registrations.filter { now - $0 < Self.registrationWindow } + [now]
  }
}
