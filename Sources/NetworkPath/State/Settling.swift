/// A filter that lets a change of the path through only after the change has lasted.
///
/// A change for the worse, or to another route, is due when the path has differed from the published one for the settle
/// time `down` without a break. A change for the better is due when the path has been satisfied for the settle time `up`
/// without a break.
struct Settling: Sendable {
  typealias Instant = ContinuousClock.Instant

  /// A path that differs from the published one.
  private struct Candidate {
    var path: PathSnapshot
    /// The instant since which the path differs.
    var since: Instant
    /// The instant since which the path is satisfied again; `nil` when it is not, or was before.
    var satisfiedSince: Instant?
  }

  let down: Duration
  let up: Duration
  /// The path that was published last.
  private(set) var published: PathSnapshot?
  private var candidate: Candidate?
  /// The number of changes that were reverted before they were due.
  private(set) var transients = 0

  init(down: Duration, up: Duration) {
    self.down = down
    self.up = up
  }

  /// Accepts the path as of now.
  mutating func offer(_ path: PathSnapshot, at now: Instant) {
    guard path != published else {
      if candidate != nil { transients += 1 }
      candidate = nil
      return
    }
    let isReturn = path.status == .satisfied && published?.status != .satisfied
    candidate = Candidate(
      path: path, since: candidate?.since ?? now, satisfiedSince: isReturn ? candidate?.satisfiedSince ?? now : nil)
  }

  /// The instant at which the candidate is due, unless the path changes before.
  var deadline: Instant? {
    guard let candidate else { return nil }
    if published == nil { return candidate.since }
    return candidate.satisfiedSince.map { $0 + up } ?? candidate.since + down
  }

  /// Returns the path that is due, once, and makes it the published one.
  mutating func takeDue(at now: Instant) -> (path: PathSnapshot, transients: Int)? {
    guard let deadline, deadline <= now, let candidate else { return nil }
    let due = (candidate.path, transients)
    published = candidate.path
    self.candidate = nil
    transients = 0
    return due
  }
}
