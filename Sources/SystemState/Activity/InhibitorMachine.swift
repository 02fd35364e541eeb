/// The state machine that decides when an inhibitor is requested, kept and released.
enum InhibitorMachine: Sendable, Hashable {
  /// No use needs an inhibitor.
  case released
  /// Uses need an inhibitor: 1 or more of them.
  case needed(uses: Int, Grant)
  /// The activity was closed and accepts no more uses.
  case closed

  /// The answer of logind to the newest request.
  enum Grant: Sendable, Hashable {
    /// No logind runs, or it has not replied yet.
    case pending
    /// logind has refused, for this reason.
    case refused(String)
    /// The logind with this unique name has granted the inhibitor. After a restart the new one has to grant it again.
    case granted(by: String)
  }

  /// The events that the state machine accepts.
  enum Event: Sendable, Hashable {
    /// A use begins.
    case begin
    /// A use ends.
    case end
    /// The logind with this unique name runs.
    case logindFound(String)
    /// The logind with this unique name has granted the inhibitor.
    case granted(by: String)
    /// logind has refused the inhibitor, for this reason.
    case refused(because: String)
    /// No logind runs, or the bus is unavailable.
    case logindGone
    /// The activity is closed.
    case close
  }

  /// The actions that the owner performs, in order.
  enum Action: Sendable, Hashable {
    /// Requests an inhibitor of the logind with this unique name.
    case request(from: String)
    /// Keeps the inhibitor that was just granted, and only then releases the one before.
    case keep
    /// Releases every inhibitor.
    case release
    /// Publishes a new state.
    case publish(BackgroundActivity.State)
  }

  init() { self = .released }

  /// The state for subscribers.
  var state: BackgroundActivity.State {
    switch self {
    case .released, .closed: .released
    case .needed(_, .pending): .waiting
    case .needed(_, .refused(let reason)): .refused(reason)
    case .needed(_, .granted): .held
    }
  }

  mutating func handle(_ event: Event) -> [Action] {
    let before = state
    var actions = apply(event)
    if state != before { actions.append(.publish(state)) }
    return actions
  }

  private mutating func apply(_ event: Event) -> [Action] {
    switch (self, event) {
    case (.released, .begin): self = .needed(uses: 1, .pending)
    case (.needed(let uses, let grant), .begin): self = .needed(uses: uses + 1, grant)
    case (.needed(uses: 1, _), .end):
      self = .released
      return [.release]
    case (.needed(let uses, let grant), .end): self = .needed(uses: uses - 1, grant)
    case (.needed(_, .granted(by: let grantor)), .logindFound(let logind)) where grantor == logind: break
    case (.needed, .logindFound(let logind)): return [.request(from: logind)]
    case (.needed(let uses, _), .granted(by: let logind)):
      self = .needed(uses: uses, .granted(by: logind))
      return [.keep]
    // The uses ended before logind replied.
    case (.released, .granted), (.closed, .granted): return [.release]
    case (.needed(let uses, _), .refused(because: let reason)): self = .needed(uses: uses, .refused(reason))
    case (.needed(let uses, _), .logindGone): self = .needed(uses: uses, .pending)
    case (.released, .close), (.needed, .close):
      self = .closed
      return [.release]
    case (.released, .end), (.released, .logindFound), (.released, .refused), (.released, .logindGone), (.closed, _):
      break
    }
    return []
  }
}
