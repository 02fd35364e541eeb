/// Waits until a change has lasted before it is told of.
///
/// A change for the worse, or to another way out, is told when the path has differed for the settle time "down" without
/// having been, meanwhile, what was told last. A change for the better is told when there has been a way out for the
/// settle time "up" without a break.
struct Settling: Sendable {
  typealias Instant = ContinuousClock.Instant

  let down: Duration
  let up: Duration
  /// What was told last.
  private(set) var told: PathSnapshot?
  private var newest: PathSnapshot?
  /// Since when `newest` differs from `told`.
  private var differsSince: Instant?
  /// Since when there is a way out again.
  private var upSince: Instant?
  /// How many changes were taken back before they were told.
  private(set) var transients = 0

  init(down: Duration, up: Duration) {
    self.down = down
    self.up = up
  }

  /// Takes in the path as it is now.
  mutating func offer(_ path: PathSnapshot, at now: Instant) {
    newest = path
    guard path != told else {
      if differsSince != nil { transients += 1 }
      (differsSince, upSince) = (nil, nil)
      return
    }
    differsSince = differsSince ?? now
    upSince = path.status == .satisfied && told?.status != .satisfied ? upSince ?? now : nil
  }

  /// When there will be something to tell, unless the path changes meanwhile.
  var deadline: Instant? {
    guard let differsSince else { return nil }
    if told == nil { return differsSince }
    return upSince.map { $0 + up } ?? differsSince + down
  }

  /// What is to be told now, once.
  mutating func due(at now: Instant) -> (path: PathSnapshot, transients: Int)? {
    guard let deadline, deadline <= now, let newest else { return nil }
    defer { (told, differsSince, upSince, transients) = (newest, nil, nil, 0) }
    return (newest, transients)
  }
}
