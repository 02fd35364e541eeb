import Foundation

@testable import Agent

/// A coordinator for simulations, which keeps to its own rules of conduct and bans whoever breaks them.
///
/// It judges by what it has seen, and knows nothing of how an agent keeps within the rules.
struct SimulatedCoordinator {
  private struct Result {
    var at: Double
    var ok: Bool
    var output: String
    var durationMs: Double
  }

  private var registrations: [Double] = []
  private var heartbeats: [Double] = []
  private var claims: [Double] = []
  private var tracked: [Result] = []
  private var violations: [Double] = []
  private var isKnown = false
  private var nextTask = 1
  /// Registrations of all times: restarting the coordinator is no excuse.
  private(set) var allRegistrations: [Double] = []
  /// Every result it has ever taken, by task.
  private(set) var results: [String: Int] = [:]
  /// What would have led to strikes or to a ban.
  private(set) var strikes: [String] = []
  /// Whether the clocks differ by more than it bears.
  var isSkewed = false
  let hasToken: Bool

  init(hasToken: Bool) { self.hasToken = hasToken }

  mutating func restart() {
    (registrations, heartbeats, claims, tracked, violations, isKnown) = ([], [], [], [], [], false)
  }

  mutating func answer(
    _ call: CoordinatorMachine.Call, isSigned: Bool, token: String?, result: ResultRequest?, at now: Double
  ) -> CoordinatorAnswer {
    if call == .register {
      registrations = recent(registrations, now) + [now]
      allRegistrations.append(now)
      isKnown = true
      judge(now)
      return say(#"{"accepted":true,"policy":{},"mode":"swarm-only"\#(hasToken ? #","meshToken":"t""# : "")}"#)
    }
    guard !hasToken || token == "t" else { return say(#"{"error":"mesh_unauthorized"}"#, 401) }
    if isSigned, isSkewed || !isKnown {
      violations = recent(violations, now) + [now]
      if violations.count >= 5 { strikes.append("\(now): \(violations.count) violations") }
      return say(#"{"error":"signature_invalid"}"#, 401)
    }
    guard isKnown else { return say(#"{"error":"mesh_unauthorized","reason":"agent_not_registered"}"#, 401) }
    switch call {
    case .register: break
    case .heartbeat: heartbeats = recent(heartbeats, now) + [now]
    case .pull:
      claims = recent(claims, now) + [now]
      let id = "t\(nextTask)"
      nextTask += 1
      return say(#"{"subtask":{"id":"\#(id)","taskId":"T","input":"x","timeoutMs":60000}}"#)
    case .result:
      guard let result else { break }
      results[result.subtaskId, default: 0] += 1
      tracked = tracked.filter { now - $0.at <= 3600 }
      tracked.append(Result(at: now, ok: result.ok, output: result.output, durationMs: Double(result.durationMs)))
      judge(now)
    }
    return say(#"{"ok":true}"#)
  }

  private func say(_ text: String, _ status: Int = 200) -> CoordinatorAnswer {
    CoordinatorAnswer(status: status, body: Data(text.utf8))
  }

  private func recent(_ instants: [Double], _ now: Double) -> [Double] { instants.filter { now - $0 <= 3600 } }

  /// The rules, as the specification has them.
  private mutating func judge(_ now: Double) {
    func strike(_ isSo: Bool, _ rule: String) {
      if isSo { strikes.append("\(now): \(rule)") }
    }
    (registrations, claims) = (recent(registrations, now), recent(claims, now))
    let beats = recent(heartbeats, now)
    let gap = zip(beats, beats.dropFirst()).map { $1 - $0 }.max() ?? 0
    let tasks = tracked.filter { now - $0.at <= 3600 }
    let count = Double(tasks.count)
    let durations = tasks.map(\.durationMs)
    let mean = durations.reduce(0, +) / max(count, 1)
    let deviation = (durations.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / max(count, 1)).squareRoot()
    let good = Double(tasks.filter(\.ok).count)
    let empty = Double(tasks.filter { $0.output.isEmpty }.count)
    let length = Double(tasks.reduce(0) { $0 + $1.output.count }) / max(count, 1)
    var (run, longest) = (1, 1)
    for (one, next) in zip(tasks, tasks.dropFirst()) {
      run = one.output == next.output ? run + 1 : 1
      longest = max(longest, run)
    }
    strike(registrations.count >= 10, "registrations")
    strike(gap > 300 && !claims.isEmpty, "a gap of \(gap) s")
    strike(durations.filter { $0 < 500 }.count >= 3 && mean < 1000, "too fast")
    strike(longest >= 3, "the same again")
    strike(empty >= 5 && empty / count > 0.6, "empty")
    strike(count >= 10 && good / count < 0.15, "failures")
    strike(count >= 10 && deviation < 50, "a deviation of \(deviation) ms")
    strike(count >= 5 && length < 10 && good / count > 0.8, "short")
  }
}
