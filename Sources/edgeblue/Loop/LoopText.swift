import JSONValues
import SpeedTest

extension LoopTrigger {
  /// The condition in words.
  var words: String {
    switch self {
    case .first: "the loop begins"
    case .time: "the time has passed"
    case .distance: "the machine has moved"
    case .retry: "the last attempt has failed"
    }
  }
}

extension LoopOutcome {
  /// The measured values, or the reason for their absence, on one line.
  var words: String {
    let rates = [
      download.map { "\(SpeedTestTable.rate($0)) down" }, upload.map { "\(SpeedTestTable.rate($0)) up" },
      pingMs.map { "ping \(SpeedTestTable.time($0 * 1e6))" },
    ].compactMap(\.self).joined(separator: ", ")
    let others = alongside.isEmpty ? "" : "; beside \(alongside.joined(separator: ", "))"
    guard status != .completed else { return rates + others }
    let reason = reason.map { ": \($0)" } ?? ""
    return status.words + reason + (rates.isEmpty ? "" : " (\(rates))") + others
  }
}

extension LoopOutcome.Status {
  /// The way in which a test ended, in words.
  var words: String {
    switch self {
    case .completed: "completed"
    case .failed: "failed"
    case .backgrounded: "aborted, because nobody was there"
    case .interrupted: "interrupted"
    case .stopped: "stopped"
    }
  }
}

extension LoopPlan {
  /// The plan on one line.
  var words: String {
    let seconds = delay.inSeconds
    let isMinutes = seconds.truncatingRemainder(dividingBy: 60) == 0
    let time = isMinutes ? "\(Amounts.fixed(seconds / 60, 0)) minutes" : "\(Amounts.fixed(seconds, 1)) s"
    let distance = movement.map { " or \(Amounts.fixed($0, 0)) m" } ?? ""
    return "\(tests) tests, one each \(time)\(distance)"
  }
}

/// A change of a loop that a user reads as one line.
struct LoopNews: Hashable {
  var text: String
  var event: String
  var fields: [String: JSONValue]
  var paint: Terminal.Paint?

  func show(_ terminal: Terminal) { terminal.happened(text, event, fields, paint: paint) }

  /// Returns the changes between two states; `nil` is the state before the start.
  static func between(_ old: LoopState?, _ new: LoopState) -> [LoopNews] {
    guard let old else {
      // The first state that is seen may have a test under way already.
      let running = new.history.last.flatMap { $0.outcome == nil ? $0 : nil }
      let begun = new.counter - (running?.attempt == 1 ? 1 : 0)
      let text = begun == 0 ? "loop of \(new.plan.words)" : "loop continued after \(begun) of \(new.plan.tests) tests"
      let started = LoopNews(
        text: text, event: "started", fields: ["loop": .string(new.id.uuidString), "begun": .number(begun)])
      return [started] + (running.map { [begin($0, new)] } ?? [])
    }
    var news: [LoopNews] = []
    for (index, test) in new.history.enumerated() {
      let before = index < old.history.count ? old.history[index] : nil
      if before == nil { news.append(begin(test, new)) }
      if let outcome = test.outcome, before?.outcome == nil { news.append(end(test, outcome, new)) }
    }
    if let ending = new.ending, old.ending == nil {
      news.append(
        LoopNews(
          text: "the loop is \(ending.rawValue)", event: "finished", fields: ["ending": .string(ending.rawValue)]))
    }
    return news
  }

  private static func begin(_ test: LoopTest, _ state: LoopState) -> LoopNews {
    let again = test.attempt > 1 ? " again" : ""
    return LoopNews(
      text: "test \(test.number) of \(state.plan.tests) begins\(again): \(test.trigger.words)", event: "begin",
      fields: [
        "test": .number(test.number), "attempt": .number(test.attempt), "trigger": .string(test.trigger.rawValue),
      ])
  }

  private static func end(_ test: LoopTest, _ outcome: LoopOutcome, _ state: LoopState) -> LoopNews {
    LoopNews(
      text: "test \(test.number) of \(state.plan.tests): \(outcome.words)", event: "end", fields: test.json,
      paint: outcome.status == .completed ? nil : .yellow)
  }
}

extension LoopTest {
  /// All fields of the test.
  var json: [String: JSONValue] {
    [
      "test": .number(number), "attempt": .number(attempt), "trigger": .string(trigger.rawValue),
      "startMs": .number(Int(startMs)), "durationMs": JSONValue(durationMs.map(Int.init)),
      "movedM": JSONValue(moved),
      "place": place.map { .object(["latitude": .number($0.latitude), "longitude": .number($0.longitude)]) } ?? .null,
      "status": JSONValue(outcome?.status.rawValue), "reason": JSONValue(outcome?.reason),
      "downloadBitsPerSecond": JSONValue(outcome?.download),
      "uploadBitsPerSecond": JSONValue(outcome?.upload),
      "pingMs": JSONValue(outcome?.pingMs), "result": JSONValue(outcome?.result),
      "alongside": .array((outcome?.alongside ?? []).map { .string($0) }),
    ]
  }
}
