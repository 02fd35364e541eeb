/// A login session as logind describes it.
struct LoginSession: Sendable, Hashable {
  var isActive: Bool
  var isLocked = false
  var isIdle = false

  var reason: LifecycleReason { !isActive ? .inactive : isLocked ? .locked : isIdle ? .idle : .active }
}

/// The state machine that decides the phase of a program.
///
/// Sleep comes first, because no choice keeps the host awake; then the user's choice; then the session.
struct LifecycleMachine: Sendable, Hashable {
  /// The events that the state machine accepts.
  enum Event: Sendable, Hashable {
    /// logind has announced that the host will sleep, or that it is awake.
    case sleep(Bool)
    /// The session to follow was read; `nil` when there is none.
    case session(LoginSession?)
    /// No logind runs.
    case logindGone
    /// The user has chosen a phase.
    case choose(LifecycleChoice)
  }

  /// The actions that the owner performs.
  enum Action: Sendable, Hashable {
    /// Delivers an update to the subscribers.
    case publish(LifecycleUpdate)
  }

  /// The session to follow.
  private enum Session: Sendable, Hashable {
    /// logind has not replied yet: nothing is published.
    case unknown
    case none
    case followed(LoginSession)
  }

  private var choice: LifecycleChoice
  private var isGoingToSleep = false
  private var session = Session.unknown
  /// The newest update; `nil` before the session is known.
  private(set) var newest: LifecycleUpdate?

  init(choice: LifecycleChoice) { self.choice = choice }

  mutating func handle(_ event: Event) -> [Action] {
    switch event {
    case .sleep(let isComing): isGoingToSleep = isComing
    case .session(let session): self.session = session.map(Session.followed) ?? .none
    case .logindGone:
      // No logind would ever report that the sleep is over.
      isGoingToSleep = false
      session = .none
    case .choose(let choice): self.choice = choice
    }
    guard let snapshot, snapshot != newest?.snapshot else { return [] }
    let update = LifecycleUpdate(number: (newest?.number ?? 0) + 1, snapshot: snapshot)
    newest = update
    return [.publish(update)]
  }

  private var snapshot: LifecycleSnapshot? {
    if session == .unknown { return nil }
    if isGoingToSleep { return LifecycleSnapshot(phase: .suspending, reason: .sleep, choice: choice) }
    switch choice {
    case .foreground: return LifecycleSnapshot(phase: .foreground, reason: .user, choice: choice)
    case .background: return LifecycleSnapshot(phase: .background, reason: .user, choice: choice)
    case .auto:
      guard case .followed(let session) = session else {
        return LifecycleSnapshot(phase: .foreground, reason: .headless)
      }
      return LifecycleSnapshot(phase: session.reason == .active ? .foreground : .background, reason: session.reason)
    }
  }
}
