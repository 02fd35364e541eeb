import Timing

/// The results of the last hour, judged by the coordinator's rules of conduct before the coordinator judges them.
///
/// The coordinator bans a machine that seems to forge its results. An honest machine can seem to, with an engine that
/// answers at once or repeats itself, or when responses are lost so that each result is sent repeatedly. Such a machine
/// accepts no task and delays results until they are unsuspicious; it never changes one.
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

  /// The duration over which the coordinator counts, 1 h, and 30 s more, because results arrive later than they are sent.
  static let windowMs: Int64 = 3_630_000
  /// The age up to which the coordinator surely counts a result that was sent: 1 h, and 30 s less, because the next one
  /// arrives later than now. An older one may be counted or not.
  private static let surelyCountedMs: Int64 = 3_570_000
  /// The number of results that are remembered.
  private static let limit = 128

  private(set) var marks: [Mark] = []
  /// The instant before which the coordinator may have forgotten results; `nil` if there is none.
  private var unsureBeforeMs: Int64?

  /// Returns the reason why no task is accepted, because its result could look forged; `nil` if there is none.
  ///
  /// The next result is assumed to be a failure after 0 ms.
  /// - Parameter results: The results that are sent before it.
  func objectionToNext(behind results: [ResultRequest], atMs now: Int64) -> HoldReason? {
    let marks = recent(now) + results.map { Mark($0, atMs: now) }
    if Self.areRepeated(Self.withoutAttempts(marks)) { return .answersRepeat }
    return tallies(marks, atMs: now).lazy.compactMap(\.objectionToNext).first
  }

  /// Returns the instant until which a result is not sent, because with it the results would look forged, and the reason;
  /// `nil` if it may be sent.
  func wait(for result: ResultRequest, atMs now: Int64) -> (untilMs: Int64, objection: HoldReason)? {
    let marks = recent(now)
    guard let first = marks.first else { return nil }
    let all = marks + [Mark(result, atMs: now)]
    if Self.areRepeated(all) { return (marks[marks.count - 2].atMs + Self.windowMs, .answersRepeat) }
    return tallies(all, atMs: now).lazy.compactMap(\.objection).first.map { (first.atMs + Self.windowMs, $0) }
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
  private func tallies(_ marks: [Mark], atMs now: Int64) -> [Tally] {
    let instant = max(unsureBeforeMs ?? .min, now - Self.surelyCountedMs)
    let unsure = marks.prefix { $0.atMs < instant }.count
    return (0...unsure).map { Tally(Array(marks.dropFirst($0))) }
  }

  /// Returns `true` if the last three results have the same output, whichever tasks they belong to.
  private static func areRepeated(_ marks: [Mark]) -> Bool {
    marks.count > 2 && Set(marks.suffix(3).map(\.output)).count == 1
  }

  /// Returns the results with consecutive attempts to send the same one counted once.
  private static func withoutAttempts(_ marks: [Mark]) -> [Mark] {
    marks.reduce(into: []) { kept, mark in
      if kept.last?.task != mark.task || kept.last?.output != mark.output { kept.append(mark) }
    }
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
    /// The number of results of tasks that took less than half a second.
    var fast: Int
    var length: Int
    var totalMs: Int64
    var deviationMs: Double

    init(_ marks: [Mark]) {
      count = marks.count
      good = marks.filter(\.ok).count
      fast = marks.filter { $0.durationMs < 500 }.count
      length = marks.reduce(0) { $0 + $1.length }
      totalMs = marks.reduce(0) { $0 + $1.durationMs }
      let mean = Double(totalMs) / Double(max(count, 1))
      let squares = marks.reduce(0) { $0 + (Double($1.durationMs) - mean) * (Double($1.durationMs) - mean) }
      deviationMs = (squares / Double(max(count, 1))).squareRoot()
    }

    /// The appearance of these results; `nil` if they are unsuspicious.
    var objection: HoldReason? {
      if count >= 10 && good * 100 < 16 * count { return .tooManyFailures }
      if fast >= 3 && totalMs < 1000 * Int64(count) { return .answersTooFast }
      if count >= 5 && good * 10 > 7 * count && length < 11 * count { return .answersTooShort }
      return count >= 10 && deviationMs < 55 ? .durationsTooAlike : nil
    }

    /// The appearance of these results and one more, as far as it can be known before.
    var objectionToNext: HoldReason? {
      var next = self
      next.count += 1
      next.fast += 1
      // Its length and its duration are unknown, so that those of the others count.
      next.length += length / max(count, 1)
      return next.objection
    }
  }
}
