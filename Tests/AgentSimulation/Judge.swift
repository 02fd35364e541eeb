/// A coordinator's rules of conduct, as the specification has them: what would be a strike, or a ban at once.
///
/// It judges by what the coordinator has seen, and knows nothing of how an agent keeps within the rules. Instants are
/// seconds.
struct Judge {
  /// A result as it arrived.
  struct Result {
    var at: Double
    var ok: Bool
    var output: String
    var durationMs: Double
  }

  private var registrations: [Double] = []
  private var heartbeats: [Double] = []
  private var lastClaim: Double?
  private var results: [Result] = []
  private var violations: [Double] = []
  private var gaps: [Double] = []
  /// A Boolean value that indicates whether only the third strike within an hour for a gap in the heartbeats counts.
  private let toleratesGaps: Bool

  init(toleratesGaps: Bool) { self.toleratesGaps = toleratesGaps }

  /// What would have led to a strike or a ban.
  var strikes: [String] = []

  /// The coordinator was restarted, and has forgotten everything.
  mutating func forget() {
    registrations = []
    heartbeats = []
    lastClaim = nil
    results = []
    violations = []
    gaps = []
  }

  mutating func registered(_ now: Double) {
    registrations = recent(registrations, now) + [now]
    judge(now)
  }

  mutating func heard(_ now: Double) { heartbeats.append(now) }

  mutating func claimed(_ now: Double) { lastClaim = now }

  mutating func violated(_ now: Double) {
    violations = recent(violations, now) + [now]
    if violations.count >= 5 { strikes.append("\(violations.count) signatures were wrong") }
  }

  mutating func got(_ result: Result) {
    results = results.filter { result.at - $0.at <= 3600 } + [result]
    judge(result.at)
  }

  private func recent(_ instants: [Double], _ now: Double) -> [Double] { instants.filter { now - $0 <= 3600 } }

  private mutating func judge(_ now: Double) {
    func strike(_ isSo: Bool, _ rule: String) {
      if isSo { strikes.append(rule) }
    }
    heartbeats = recent(heartbeats, now)
    let gap = zip(heartbeats, heartbeats.dropFirst()).map { $1 - $0 }.max() ?? 0
    let tasks = results.filter { now - $0.at <= 3600 }
    let count = Double(tasks.count)
    let durations = tasks.map(\.durationMs)
    let mean = durations.reduce(0, +) / max(count, 1)
    let deviation = (durations.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / max(count, 1)).squareRoot()
    let good = Double(tasks.filter(\.ok).count)
    let empty = Double(tasks.filter { $0.output.isEmpty }.count)
    let length = Double(tasks.reduce(0) { $0 + $1.output.utf16.count }) / max(count, 1)
    var run = 1
    var longest = 1
    for (one, next) in zip(tasks, tasks.dropFirst()) {
      run = one.output == next.output ? run + 1 : 1
      longest = max(longest, run)
    }
    strike(registrations.count >= 10, "\(registrations.count) registrations within an hour")
    if gap > 300, lastClaim.map({ now - $0 <= 3600 }) == true {
      gaps = recent(gaps, now) + [now]
      strike(!toleratesGaps || gaps.count > 2, "no heartbeat for \(gap) s, and tasks claimed, \(gaps.count) times")
    }
    strike(durations.filter { $0 < 500 }.count >= 3 && mean < 1000, "three results too fast")
    strike(longest >= 3, "three results the same")
    strike(empty >= 5 && empty / count > 0.6, "five results empty")
    strike(count >= 10 && good / count < 0.15, "of \(tasks.count) results \(Int(good)) good")
    strike(count >= 10 && deviation < 50, "results \(deviation) ms apart")
    strike(count >= 5 && length < 10 && good / count > 0.8, "results of \(length) characters")
  }
}
