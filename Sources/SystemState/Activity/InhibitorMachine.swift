/// Decides when an inhibitor is asked for, kept and let go; does nothing itself.
struct InhibitorMachine: Sendable, Hashable {
  enum Event: Sendable, Hashable {
    /// Somebody needs it.
    case begin
    /// Somebody who needed it no longer does.
    case end
    /// The logind of this unique name has granted it.
    case granted(by: String)
    /// logind has refused it, and why.
    case refused(because: String)
    /// There is no logind, or no bus.
    case logindGone
    /// Nobody will need it again.
    case close
  }

  private(set) var uses = 0
  private(set) var isClosed = false
  /// The logind that has granted what is held; one that went has forgotten it, or its successor takes it over.
  private var grantor: String?
  private var refusal: String?

  /// What a person is told.
  var state: BackgroundActivity.State {
    if uses == 0 { return .released }
    if grantor != nil { return .held }
    return refusal.map(BackgroundActivity.State.refused) ?? .waiting
  }

  /// Whether the inhibitor is to be kept that is there or has just been granted.
  var isNeeded: Bool { uses > 0 }

  /// Whether it is to be asked for, of the logind of this unique name.
  func isToBeTaken(from logind: String) -> Bool { isNeeded && grantor != logind }

  mutating func handle(_ event: Event) {
    guard !isClosed else { return }
    switch event {
    case .begin: uses += 1
    case .end: uses -= 1
    case .granted(let logind): (grantor, refusal) = (logind, nil)
    case .refused(let reason): (grantor, refusal) = (nil, reason)
    case .logindGone: (grantor, refusal) = (nil, nil)
    case .close: (uses, isClosed) = (0, true)
    }
    if !isNeeded { (grantor, refusal) = (nil, nil) }
  }
}
