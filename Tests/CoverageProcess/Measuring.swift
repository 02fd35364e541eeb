import Coverage
import Glibc

/// A run that stores fences: the first third before anything is granted, then two sessions; and ends.
enum Measuring {
  static func run(_ path: String, id: String, from first: Int, count: Int) throws {
    let store = try CoverageStore(path: path)
    guard let lock = try store.lockForRun() else { throw CoverageError(.busy, "another program measures") }
    defer { lock.release() }
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    let run = CoverageRunID(id: id, server: Sending.server, startUs: Int64(now.tv_sec) * 1_000_000)
    try store.begin(run)
    for step in 0..<count {
      let instant = Duration.milliseconds(step)
      if step == count / 3 { try store.apply([.assign(id + "-1")], of: run, at: instant) }
      if step == count * 2 / 3 { try store.apply([.begin(id + "-2")], of: run, at: instant) }
      try store.apply([.add(try fence(first + step, entered: instant))], of: run, at: instant)
      print("stored \(first + step)")
      // At once: a kill must not take the line.
      fflush(nil)
    }
    try store.apply([.finalise], of: run, at: .milliseconds(count))
  }

  /// The fence with a number, by which its latitude is known: so many thousandths of a degree.
  private static func fence(_ number: Int, entered: Duration) throws -> Fence {
    guard let place = CoverageLocation(latitude: Double(number) / 1000, longitude: 16, accuracy: 5) else {
      throw CoverageError(.invalidArgument, "no such fence")
    }
    var fence = Fence(number: number, place: place, radius: 20, entered: entered, technology: .lte)
    fence.exited = entered + .milliseconds(1)
    return fence
  }
}
