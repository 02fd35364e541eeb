import Agent
import Foundation

/// A coordinator that keeps account of every task it gives away, and looks at every request.
struct SimulatedCoordinator {
  /// A request's body, as far as it is looked at.
  private struct Body: Decodable {
    struct Telemetry: Decodable {
      var onExternalPower: Bool
      var batteryLevelPct: Int?
      var batteryPct: Int?
      var lowPowerMode: Bool
      var updatedAtMs: Int64
    }

    var agentId: String
    var powerTelemetry: Telemetry?
    var subtaskId: String?
    var ok: Bool?
    var output: String?
    var durationMs: Int64?
  }

  /// What became of a task.
  struct Account {
    /// The body of its result.
    var result: Data?
    /// Whether the agent has heard that the coordinator has it, or will not have it.
    var isClosed = false
  }

  let hasToken: Bool
  private var judge: Judge
  /// Every task the agent was given.
  private(set) var accounts: [String: Account] = [:]
  private var faults: [String] = []
  private var isKnown = false
  private var nonces: Set<String> = []
  /// When requests came that were signed, within a minute.
  private var signatures: [Double] = []
  private var nextTask = 1
  /// How many tasks, or plain answers, there are until it has none for a while.
  private var burst = 0
  // Settings of the coordinator's operator, or of the weather.
  var isSkewed = false
  var isBanned = false
  var hasWork = true

  /// - Parameter toleratesGaps: Whether two strikes within an hour for gaps in the heartbeats are no fault.
  init(hasToken: Bool, toleratesGaps: Bool) {
    self.hasToken = hasToken
    judge = Judge(toleratesGaps: toleratesGaps)
  }

  /// What was not as it should be, or would have led to a strike, since the last time.
  mutating func takeFaults() -> [String] {
    defer {
      faults = []
      judge.strikes = []
    }
    return faults + judge.strikes
  }

  mutating func restart() {
    judge.forget()
    isKnown = false
    nonces = []
    signatures = []
  }

  /// Takes in a request.
  /// - Parameters:
  ///   - now: in seconds.
  ///   - random: 0 to 1.
  mutating func answer(
    _ path: String, _ headers: [(name: String, value: String)], _ data: Data, at now: Double, random: Double
  ) -> CoordinatorAnswer {
    guard let body = try? JSONDecoder().decode(Body.self, from: data), body.agentId == "simulated" else {
      faults.append("\(path) with a body that is none")
      return say("{}", 500)
    }
    check(body.powerTelemetry)
    if path == "/register" {
      judge.registered(now)
      if isBanned { return say(#"{"error":"agent_blacklisted"}"#, 403) }
      isKnown = true
      return say(#"{"accepted":true,"policy":{},"mode":"swarm-only"\#(hasToken ? #","meshToken":"t""# : "")}"#)
    }
    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
    guard !hasToken || header("x-mesh-token") == "t" else { return say(#"{"error":"mesh_unauthorized"}"#, 401) }
    if let nonce = header("x-nonce") {
      signatures = signatures.filter { now - $0 < 60 } + [now]
      if signatures.count > 30 || isSkewed || !isKnown || !nonces.insert(nonce).inserted {
        judge.violated(now)
        return say(#"{"error":"signature_invalid"}"#, 401)
      }
    }
    guard isKnown else { return say(#"{"error":"mesh_unauthorized","reason":"agent_not_registered"}"#, 401) }
    switch path {
    case "/heartbeat":
      judge.heard(now)
      if isBanned { return say(#"{"ok":false,"blacklisted":true,"reason":"by hand"}"#) }
      return say(#"{"ok":true,"requeued":0,"policy":{},"orchestration":null}"#)
    case "/pull": return isBanned ? say(#"{"subtask":null,"blocked":true,"reason":"by hand"}"#) : work(now, random)
    default: return take(body, data, now)
    }
  }

  /// The agent has heard what became of a result.
  mutating func close(_ task: String) { accounts[task]?.isClosed = true }

  /// The task that an answer to a pull gives away.
  static func task(in answer: CoordinatorAnswer) -> String? {
    struct Reply: Decodable {
      struct Subtask: Decodable { var id: String }
      var subtask: Subtask?
    }
    return (try? JSONDecoder().decode(Reply.self, from: answer.body))?.subtask?.id
  }

  private mutating func work(_ now: Double, _ random: Double) -> CoordinatorAnswer {
    // A day in which one task followed the other would take a minute to play.
    if burst == 0 {
      burst = Int(random * 12)
      return say(#"{"subtask":null,"powerDeferred":true,"reason":"later","deferMs":\#(Int(300_000 * (1 + random)))}"#)
    }
    burst -= 1
    guard hasWork else { return say(#"{"subtask":null}"#) }
    judge.claimed(now)
    let id = "t\(nextTask)"
    nextTask += 1
    accounts[id] = Account()
    let input = random < 0.02 ? "" : #","input":"x""#
    return say(#"{"subtask":{"id":"\#(id)","taskId":"T"\#(input),"timeoutMs":\#(5000 + Int(random * 55_000))}}"#)
  }

  private mutating func take(_ body: Body, _ data: Data, _ now: Double) -> CoordinatorAnswer {
    guard let task = body.subtaskId, let output = body.output, let ok = body.ok, let took = body.durationMs else {
      faults.append("a result that is none")
      return say("{}", 500)
    }
    guard let account = accounts[task] else {
      faults.append("a result of \(task), which nobody was given")
      return say(#"{"ok":true}"#)
    }
    if account.isClosed { faults.append("the result of \(task) once more, though the agent knows that it is there") }
    if let before = account.result, before != data { faults.append("two results of \(task)") }
    judge.got(.init(at: now, ok: ok, output: output, durationMs: Double(took)))
    if isBanned { return say(#"{"error":"agent_blacklisted"}"#, 403) }
    accounts[task]?.result = data
    return say(#"{"ok":true}"#)
  }

  private mutating func check(_ telemetry: Body.Telemetry?) {
    guard let telemetry else { return }
    let level = telemetry.batteryLevelPct
    if level != telemetry.batteryPct || level.map({ (0...100).contains($0) }) == false {
      faults.append("a battery of \(String(describing: level)) %")
    }
  }

  private func say(_ text: String, _ status: Int = 200) -> CoordinatorAnswer {
    CoordinatorAnswer(status: status, body: Data(text.utf8))
  }
}
