/// What logind says of a session.
struct LoginSession: Sendable, Hashable {
  var isActive: Bool
  var isLocked = false
  var isIdle = false

  var reason: LifecycleReason { !isActive ? .inactive : isLocked ? .locked : isIdle ? .idle : .active }
}

/// Decides the phase; does nothing itself and has no clock.
///
/// Sleep comes first, because no choice keeps the machine awake; then what a person chose; then the session.
struct LifecycleMachine: Sendable, Hashable {
  enum Event: Sendable, Hashable {
    /// Whether logind has announced that the machine will sleep.
    case sleep(Bool)
    /// What the session to follow is like; `nil` when there is none.
    case session(LoginSession?)
    /// There is no logind.
    case logindGone
    /// A person chose.
    case choose(LifecycleChoice)
  }

  private var choice: LifecycleChoice
  private var isGoingToSleep = false
  private var session: LoginSession?
  /// Whether it is known what the session is like, or that there is none.
  private var isComplete = false
  /// The newest; `nil` before the session is known.
  private(set) var newest: LifecycleUpdate?

  init(choice: LifecycleChoice) { self.choice = choice }

  /// Takes in an event.
  /// - Returns: what there is to tell, if anything.
  mutating func handle(_ event: Event) -> LifecycleUpdate? {
    switch event {
    case .sleep(let isComing): isGoingToSleep = isComing
    case .session(let session): (self.session, isComplete) = (session, true)
    case .logindGone: (isGoingToSleep, session, isComplete) = (false, nil, true)
    case .choose(let choice): self.choice = choice
    }
    let snapshot = snapshot
    guard isComplete, snapshot != newest?.snapshot else { return nil }
    newest = LifecycleUpdate(number: (newest?.number ?? 0) + 1, snapshot: snapshot)
    return newest
  }

  private var snapshot: LifecycleSnapshot {
    if isGoingToSleep { return LifecycleSnapshot(phase: .suspending, reason: .sleep, choice: choice) }
    switch choice {
    case .foreground: return LifecycleSnapshot(phase: .foreground, reason: .person, choice: choice)
    case .background: return LifecycleSnapshot(phase: .background, reason: .person, choice: choice)
    case .auto:
      let reason = session?.reason ?? .headless
      let isInUse = reason == .active || reason == .headless
      return LifecycleSnapshot(phase: isInUse ? .foreground : .background, reason: reason)
    }
  }
}
