/// What came of the work, since the start.
struct WorkCounters: Sendable, Hashable {
  var done = 0
  var failed = 0
  /// Why no work was asked for, or none was given.
  var drops = DropReasons()
  /// Why none is asked for now; `nil` when it is.
  var held: String?

  mutating func hold(_ reason: String) {
    held = String(reason.prefix(64))
    drops.count(held ?? "")
  }
}
