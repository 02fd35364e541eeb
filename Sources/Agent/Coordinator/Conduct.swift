/// Keeps a machine within the coordinator's rules of conduct: what it counts within an hour, counted here first.
///
/// The coordinator bans who looks as if it made its answers up. An honest machine can look so, too: with a broken
/// engine, one that answers at once, or three times the same; or when the coordinator's answers are lost, so that each
/// result is sent again and again.
struct Conduct: Sendable, Hashable, Codable {
  /// A result that was sent, and may have arrived.
  struct Mark: Sendable, Hashable, Codable {
    /// By the agent's clock here, since 1970 on disk.
    var atMs: Int64
    var task: UInt64
    var ok: Bool
    var length: Int
    var output: UInt64
    var durationMs: Int64

    init(_ result: ResultRequest, atMs: Int64) {
      (self.atMs, ok, durationMs) = (atMs, result.ok, result.durationMs)
      (length, output) = (result.output.utf16.count, Conduct.fingerprint(result.output))
      task = Conduct.fingerprint(result.subtaskId)
    }
  }

  /// Over how long the coordinator counts.
  static let windowMs: Int64 = 3_600_000
  /// The least time from taking a task to its result: three below half a second are a ban.
  static let leastMs: Int64 = 600
  /// By how much two results differ in time: ten that differ by less than 50 ms on average are a strike.
  static let spreadMs: Int64 = 400
  /// How many are remembered.
  private static let limit = 128

  private(set) var marks: [Mark] = []
  /// What is older may have been forgotten by the coordinator, with all before it; `nil` for nothing.
  private var unsureBeforeMs: Int64?

  /// How long a result is held back.
  /// - Parameters:
  ///   - results: what is to be sent before it.
  ///   - random: 0 to 1.
  func pauseMs(after durationMs: Int64, behind results: [ResultRequest], random: Double) -> Int64 {
    let spread = Int64(Double(Self.spreadMs) * min(max(random, 0), 1))
    if durationMs < Self.leastMs { return Self.leastMs - durationMs + spread }
    let tallies = tallies(marks + results.map { Mark($0, atMs: .max) })
    return tallies.contains { $0.count >= 5 && $0.deviationMs < 100 } ? spread : 0
  }

  /// Why an answer is not given as such; `nil` when it is.
  /// - Parameter results: what is to be sent before it.
  func objection(to output: String, behind results: [ResultRequest], atMs now: Int64) -> String? {
    let before = recent(now).map(\.output) + results.map { Self.fingerprint($0.output) }
    if before.count > 1, before.suffix(2).allSatisfy({ $0 == Self.fingerprint(output) }) {
      return "it is the third time in a row the same answer, which the coordinator takes for a forgery"
    }
    return nil
  }

  /// Until when no task is taken, because one more that fails could be one too many; `nil` when one may be.
  func heldUntilMs(behind results: [ResultRequest], atMs now: Int64) -> Int64? {
    let marks = recent(now) + results.map { Mark($0, atMs: now) }
    let isTooMuch = tallies(marks).contains { tally in
      var tally = tally
      tally.count += 1
      return tally.looksBroken
    }
    return isTooMuch ? marks[0].atMs + Self.windowMs : nil
  }

  /// Until when a result is not sent, because with it the machine would look like a forger; `nil` when it may be.
  func waitUntilMs(for result: ResultRequest, atMs now: Int64) -> Int64? {
    let marks = recent(now)
    let looksBad = tallies(marks + [Mark(result, atMs: now)]).contains { $0.looksBroken || $0.looksMadeUp }
    return looksBad ? marks.first.map { $0.atMs + Self.windowMs } : nil
  }

  /// A result as it is sent. Sent once more, since nobody answered, it is not quite the same: the coordinator takes three
  /// in a row that are for a forgery, and does not care whose they are.
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

  /// The one that was sent last has certainly not arrived.
  mutating func takeBack() { if !marks.isEmpty { marks.removeLast() } }

  /// The coordinator has forgotten all results before some instant, and perhaps some after it.
  mutating func forget(beforeMs instant: Int64, atMs now: Int64) {
    marks.removeAll { $0.atMs < instant }
    unsureBeforeMs = now
  }

  /// The same by another clock, and with nothing that cannot be: what was read from a file.
  /// - Parameters:
  ///   - wallMs: the clock it has now.
  ///   - nowMs: the clock it is to have, at the same moment.
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

  /// All that the coordinator may make of some results: it counts from the first, or from a later one.
  private func tallies(_ marks: [Mark]) -> [Tally] {
    let unsure = unsureBeforeMs.map { instant in marks.prefix { $0.atMs < instant }.count } ?? 0
    return (0...unsure).map { Tally(Array(marks.dropFirst($0))) }
  }

  private func recent(_ now: Int64) -> [Mark] { marks.filter { now - $0.atMs <= Self.windowMs } }

  /// FNV-1a: the same after a restart, and never mind whose text it is.
  private static func fingerprint(_ text: String) -> UInt64 {
    text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}

extension Conduct {
  /// What the coordinator makes of some results. Its limits, with some room.
  private struct Tally {
    var count: Int
    var good: Int
    var length: Int
    var deviationMs: Double

    init(_ marks: [Mark]) {
      (count, good) = (marks.count, marks.filter(\.ok).count)
      length = marks.reduce(0) { $0 + $1.length }
      let mean = Double(marks.reduce(0) { $0 + $1.durationMs }) / Double(max(count, 1))
      let squares = marks.reduce(0) { $0 + (Double($1.durationMs) - mean) * (Double($1.durationMs) - mean) }
      deviationMs = (squares / Double(max(count, 1))).squareRoot()
    }

    /// Ten tasks of which less than 15 % went well.
    var looksBroken: Bool { count >= 10 && good * 100 < 16 * count }

    /// Five tasks with answers shorter than ten characters, or ten that took the same time.
    var looksMadeUp: Bool {
      count >= 5 && good * 10 > 7 * count && length < 11 * count || count >= 10 && deviationMs < 55
    }
  }
}
