import Timing

/// The results of the last hour, judged by the coordinator's rules of conduct before the coordinator judges them.
///
/// The coordinator bans a machine that seems to forge its results. An honest machine can seem to, with an engine that is
/// broken, answers at once or repeats itself, or when responses are lost so that each result is sent repeatedly.
struct Conduct: Sendable, Hashable, Codable {
  /// A result that was sent and may have arrived.
  struct Mark: Sendable, Hashable, Codable {
    /// The time by the agent's clock; on disk since 1970.
    var atMs: Int64
    var task: UInt64
    var ok: Bool
    var length: Int
    var output: UInt64
    var durationMs: Int64

    init(_ result: ResultRequest, atMs: Int64) {
      self.atMs = atMs
      ok = result.ok
      durationMs = result.durationMs
      length = result.output.utf16.count
      output = Conduct.fingerprint(result.output)
      task = Conduct.fingerprint(result.subtaskId)
    }
  }

  /// The duration over which the coordinator counts: 1 h.
  static let windowMs: Int64 = 3_600_000
  /// The shortest time from a task to its result: 600 ms. Three below half a second are a ban.
  static let leastMs: Int64 = 600
  /// The random variation of the durations: 400 ms. Ten results that differ by less than 50 ms on average are a strike.
  static let spreadMs: Int64 = 400
  /// The number of results that are remembered.
  private static let limit = 128

  private(set) var marks: [Mark] = []
  /// The instant before which the coordinator may have forgotten results; `nil` if there is none.
  private var unsureBeforeMs: Int64?

  /// Returns the delay before an outcome becomes a result, in milliseconds.
  /// - Parameters:
  ///   - durationMs: The time since the start of the task.
  ///   - results: The results that are sent before it.
  ///   - random: A number from 0 to 1.
  func pauseMs(after durationMs: Int64, behind results: [ResultRequest], random: Double) -> Int64 {
    let spread = Int64(Double(Self.spreadMs) * min(max(random, 0), 1))
    if durationMs < Self.leastMs { return Self.leastMs - durationMs + spread }
    let tallies = tallies(marks + results.map { Mark($0, atMs: .max) })
    return tallies.contains { $0.count >= 5 && $0.deviationMs < 100 } ? spread : 0
  }

  /// Returns the reason why an answer is replaced by a failure, or `nil` if it may be sent.
  /// - Parameter results: The results that are sent before it.
  func objection(to output: String, behind results: [ResultRequest], atMs now: Int64) -> String? {
    let before = recent(now).map(\.output) + results.map { Self.fingerprint($0.output) }
    if before.count > 1, before.suffix(2).allSatisfy({ $0 == Self.fingerprint(output) }) {
      return "the answer is the same for the third time in a row, which the coordinator treats as a forgery"
    }
    return nil
  }

  /// Returns the instant until which no task is accepted, because one more failure could be a strike; `nil` for now.
  func heldUntilMs(behind results: [ResultRequest], atMs now: Int64) -> Int64? {
    let marks = recent(now) + results.map { Mark($0, atMs: now) }
    let isTooMuch = tallies(marks).contains { tally in
      var tally = tally
      tally.count += 1
      return tally.looksBroken
    }
    return isTooMuch ? marks[0].atMs + Self.windowMs : nil
  }

  /// Returns the instant until which a result is not sent, because with it the results would look forged; `nil` for now.
  func waitUntilMs(for result: ResultRequest, atMs now: Int64) -> Int64? {
    let marks = recent(now)
    let looksBad = tallies(marks + [Mark(result, atMs: now)]).contains { $0.looksBroken || $0.looksMadeUp }
    return looksBad ? marks.first.map { $0.atMs + Self.windowMs } : nil
  }

  /// Returns a result as it is sent. A repetition gets a line break, because the coordinator treats three equal results in
  /// a row as a forgery.
  func asSent(_ result: ResultRequest) -> ResultRequest {
    guard let last = marks.last, last.task == Self.fingerprint(result.subtaskId),
      last.output == Self.fingerprint(result.output)
    else { return result }
    var again = result
    again.output += "\n"
    return again
  }

  /// Counts a result that is about to be sent.
  mutating func note(_ result: ResultRequest, atMs now: Int64) {
    marks = recent(now).suffix(Self.limit - 1) + [Mark(result, atMs: now)]
  }

  /// Discounts the last result, which certainly has not arrived.
  mutating func takeBack() { if !marks.isEmpty { marks.removeLast() } }

  /// Notes that the coordinator has forgotten all results before an instant, and perhaps some after it.
  mutating func forget(beforeMs instant: Int64, atMs now: Int64) {
    marks.removeAll { $0.atMs < instant }
    unsureBeforeMs = now
  }

  /// Returns the results by another clock, with impossible values from a file corrected.
  /// - Parameters:
  ///   - wallMs: The present time by the clock of the results.
  ///   - nowMs: The present time by the new clock.
  func moved(fromMs wallMs: Int64, toMs nowMs: Int64) -> Conduct {
    var moved = self
    moved.unsureBeforeMs = unsureBeforeMs.map { nowMs - min(max(0, wallMs.subtractingClamped($0)), Self.windowMs) }
    moved.marks = marks.suffix(Self.limit).map { mark in
      var mark = mark
      mark.atMs = nowMs - min(max(0, wallMs.subtractingClamped(mark.atMs)), Self.windowMs)
      mark.length = min(max(0, mark.length), 1 << 30)
      mark.durationMs = min(max(0, mark.durationMs), 86_400_000)
      return mark
    }
    return moved
  }

  /// Returns all tallies that the coordinator may have: it counts from the first result or from a later one.
  private func tallies(_ marks: [Mark]) -> [Tally] {
    let unsure = unsureBeforeMs.map { instant in marks.prefix { $0.atMs < instant }.count } ?? 0
    return (0...unsure).map { Tally(Array(marks.dropFirst($0))) }
  }

  private func recent(_ now: Int64) -> [Mark] { marks.filter { now - $0.atMs <= Self.windowMs } }

  /// Returns the FNV-1a hash of a text, which is the same after a restart.
  private static func fingerprint(_ text: String) -> UInt64 {
    text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}

extension Conduct {
  /// A tally of results as the coordinator makes it, with stricter limits.
  private struct Tally {
    var count: Int
    var good: Int
    var length: Int
    var deviationMs: Double

    init(_ marks: [Mark]) {
      count = marks.count
      good = marks.filter(\.ok).count
      length = marks.reduce(0) { $0 + $1.length }
      let mean = Double(marks.reduce(0) { $0 + $1.durationMs }) / Double(max(count, 1))
      let squares = marks.reduce(0) { $0 + (Double($1.durationMs) - mean) * (Double($1.durationMs) - mean) }
      deviationMs = (squares / Double(max(count, 1))).squareRoot()
    }

    /// A Boolean value that indicates whether less than 15 % of ten or more tasks succeeded.
    var looksBroken: Bool { count >= 10 && good * 100 < 16 * count }

    /// A Boolean value that indicates whether five answers are shorter than ten characters, or ten took the same time.
    var looksMadeUp: Bool {
      count >= 5 && good * 10 > 7 * count && length < 11 * count || count >= 10 && deviationMs < 55
    }
  }
}
