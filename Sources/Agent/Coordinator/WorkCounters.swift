/// The counters of tasks since the start.
struct WorkCounters: Sendable, Hashable {
  var done = 0
  var failed = 0
  /// The tasks that were returned because this machine stopped working.
  var cancelled = 0
  /// The time spent on tasks, in milliseconds.
  var workedMs: Int64 = 0
  /// The reasons why work was not requested or not given.
  var drops = DropReasons()
  /// The reason why no work is requested now; `nil` if it is.
  var held: String?

  mutating func hold(_ reason: String) {
    held = String(reason.prefix(64))
    drops.count(held ?? "")
  }
}
