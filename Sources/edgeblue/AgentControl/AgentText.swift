import Agent
import Coverage
import JSONValues

extension AgentStatus {
  /// The mode and its meaning for the user, in one sentence.
  var headline: String {
    let cause = cause == .networkLoss ? " (chosen is \(chosenMode), which the loss of the network changed)" : ""
    return "\(mode)\(cause): \(mode.meaning)"
  }

  /// The lines of all fields, for display.
  var lines: [String] { facts.map { $0.0.padded(to: 14) + $0.1.printable } }

  /// All fields of the status with their names, for display.
  var facts: [(String, String)] {
    var facts = [
      ("Mode", headline), ("State", stateText), ("Phase", lifecycle?.text ?? "unknown"),
      ("Network", networkText), ("Power", powerText),
      ("On battery", runOnlyWhileCharging ? "does not run" : "runs too"),
    ]
    if let coordinator { facts += coordinator.facts }
    if let uploads { facts += uploads.facts }
    if let loop { facts += loop.facts }
    if let coverage { facts += coverage.facts }
    facts += [
      (
        "Since start",
        "\(counters.starts) starts, \(counters.failures) failures, \(counters.downgrades) changes from On to Bluetooth Local"
      )
    ]
    if let lastFailure { facts.append(("Last failure", lastFailure)) }
    if let storageProblem { facts.append(("Disk error", storageProblem)) }
    return facts
  }

  /// The state of the service; of one that works, also since when its coordinator cannot be reached.
  private var stateText: String {
    guard mode == .on, let since = coordinator?.health.unreachableSinceMs else { return "\(runState)" }
    let reason = coordinator?.health.unreachableBecause.map { " (\($0))" } ?? ""
    return "On, unreachable since \(Terminal.clock(atMs: since))\(reason); `edgeblue mode local` is possible meanwhile"
  }

  private var networkText: String {
    guard let network else { return "unknown" }
    guard network.status != .satisfied else {
      let text = network.interface.map { "default route on \($0)" } ?? "default route"
      return text + (network.isMetered ? ", metered" : "")
    }
    return "no default route" + (network.reason.map { ": \($0)" } ?? "")
  }

  private var powerText: String {
    guard let power else { return "unknown" }
    let level = power.batteryLevelPct.map { ", battery level \($0) %" } ?? ""
    return (power.onExternalPower ? "external power" : "battery power") + level
      + (power.lowPowerMode ? ", power saver on" : "")
  }

  var json: [String: JSONValue] {
    let network = network.map { network in
      JSONValue.object([
        "status": .string(network.status.rawValue), "reason": JSONValue(network.reason),
        "interface": JSONValue(network.interface), "metered": .bool(network.isMetered),
      ])
    }
    return [
      "mode": .string(mode.rawValue), "chosenMode": .string(chosenMode.rawValue), "cause": .string(cause.rawValue),
      "runOnlyWhileCharging": .bool(runOnlyWhileCharging), "runState": .string(runState.name),
      "reason": JSONValue(runState.reason), "lifecycle": lifecycle.map { .object($0.json) } ?? .null,
      "network": network ?? .null,
      "powerTelemetry": power.map { .object($0.json) } ?? .null,
      "coordinator": coordinator.map { .object($0.json) } ?? .null,
      "counters": .object([
        "downgrades": .number(counters.downgrades), "starts": .number(counters.starts),
        "failures": .number(counters.failures), "savesFailed": .number(counters.savesFailed),
      ]),
      "lastFailure": JSONValue(lastFailure), "storageProblem": JSONValue(storageProblem),
      "eventCount": .number(eventCount),
      "uploads": uploads.map { .object($0.json) } ?? .null, "loop": loop.map { .object($0.json) } ?? .null,
      "coverage": coverage.map { .object($0.json) } ?? .null,
    ]
  }
}

extension UploadsStatus {
  var facts: [(String, String)] {
    let open = ["waiting", "uploading", "paused"].reduce(0) { $0 + items[$1, default: 0] }
    var text = open == 0 ? "none waiting" : "\(open) left, \(Amounts.bytes(Int(bytesLeft)))"
    if let oldestAtMs { text += ", oldest from \(Terminal.clock(atMs: oldestAtMs))" }
    if isPaused { text += "; paused" }
    text += "; \(counters["uploaded", default: 0]) uploaded"
    if let failed = items["failed"], failed > 0 { text += ", \(failed) failed permanently" }
    var facts = [("Uploads", text)]
    if !failures.isEmpty {
      let counts = failures.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.key) \($0.value)×" }
      facts.append(("Retries", counts.joined(separator: ", ")))
    }
    if let problem { facts.append(("Upload error", problem)) }
    return facts
  }

  var json: [String: JSONValue] {
    [
      "items": .object(items.mapValues(JSONValue.number)), "bytesLeft": .number(Int(bytesLeft)),
      "oldestAtMs": JSONValue(oldestAtMs.map { Int($0) }), "paused": .bool(isPaused),
      "counters": .object(counters.mapValues(JSONValue.number)),
      "failures": .object(failures.mapValues(JSONValue.number)),
      "problem": JSONValue(problem),
    ]
  }
}

extension SpeedTestLoopStatus {
  var facts: [(String, String)] {
    var text = state == "none" ? "none" : "\(state), \(begun) of \(tests) tests have begun"
    if let dueAtMs { text += ", the next one is due at \(Terminal.clock(atMs: dueAtMs))" }
    let failed = outcomes.filter { $0.key != "completed" }.sorted { $0.key < $1.key }
    if !failed.isEmpty { text += "; " + failed.map { "\($0.key) \($0.value)×" }.joined(separator: ", ") }
    return [("Loop", text)] + (problem.map { [("Loop error", $0)] } ?? [])
  }

  var json: [String: JSONValue] {
    [
      "state": .string(state), "begun": .number(begun), "tests": .number(tests),
      "outcomes": .object(outcomes.mapValues(JSONValue.number)), "dueAtMs": JSONValue(dueAtMs.map { Int($0) }),
      "problem": JSONValue(problem),
    ]
  }
}

extension CoverageMeasurementStatus {
  var facts: [(String, String)] {
    let answered = pings["answered", default: 0]
    var text = CoverageObstacle(rawValue: state).map { "waits, \($0.words)" } ?? state
    if let technology { text += ", \(CoverageTechnology(rawValue: technology)?.displayName ?? technology)" }
    text += ", \(fences) fences, \(answered) of \(answered + pings["lost", default: 0]) pings answered"
    text += "; \(sendings["delivered", default: 0]) sessions sent, \(waiting) waiting"
    let more = [session.map { "session \($0)" }, problem.map { "problem: \($0)" }].compactMap(\.self)
    return ([text] + more).map { ("Coverage", $0) }
  }

  var json: [String: JSONValue] {
    [
      "state": .string(state), "technology": JSONValue(technology), "fences": .number(fences),
      "pings": .object(pings.mapValues(JSONValue.number)), "session": JSONValue(session), "waiting": .number(waiting),
      "sendings": .object(sendings.mapValues(JSONValue.number)), "problem": JSONValue(problem),
    ]
  }
}

extension CoordinatorStatus {
  var facts: [(String, String)] {
    let known = isRegistered ? "enrolled" : "not enrolled"
    let name = address.isEmpty ? known : "\(address), \(known) as \(agentID)"
    var facts = [("Coordinator", name + (problem.map { ": \($0)" } ?? ""))]
    if let lastHeartbeatAtMs {
      let failed = health.heartbeatsFailed > 0 ? "; \(health.heartbeatsFailed) not acknowledged" : ""
      facts.append(("Heartbeat", "acknowledged at \(Terminal.clock(atMs: lastHeartbeatAtMs))\(failed)"))
    }
    if problem != nil, let nextHeartbeatAtMs {
      let time = Terminal.clock(atMs: nextHeartbeatAtMs)
      facts.append(("Next attempt", "at \(time); `edgeblue mode on` asks now"))
    }
    facts.append(("Tasks", "\(jobsDone) done, \(jobsFailed) failed\(cancelledText)\(workText)"))
    if resultsWaiting + resultsUnwanted > 0 {
      facts.append(("Results", "\(resultsWaiting) waiting, \(resultsUnwanted) rejected by the coordinator"))
    }
    if !dropReasons.isEmpty {
      let counts = dropReasons.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.key) \($0.value)×" }
      facts.append(("Not assigned", counts.joined(separator: ", ")))
    }
    return facts
  }

  private var cancelledText: String { jobsCancelled == 0 ? "" : ", \(jobsCancelled) cancelled" }

  private var workText: String {
    if isWorking { return "; one in progress" }
    return heldDescription.map { "; none requested: \($0)" } ?? ""
  }

  var json: [String: JSONValue] {
    [
      "address": .string(address), "agentId": .string(agentID), "registered": .bool(isRegistered),
      "lastHeartbeatAtMs": JSONValue(lastHeartbeatAtMs.map(Int.init)),
      "nextHeartbeatAtMs": JSONValue(nextHeartbeatAtMs.map(Int.init)), "problem": JSONValue(problem),
      "working": .bool(isWorking), "heldBecause": JSONValue(heldBecause), "jobsDone": .number(jobsDone),
      "jobsFailed": .number(jobsFailed), "jobsCancelled": .number(jobsCancelled),
      "resultsWaiting": .number(resultsWaiting),
      "unreachableSinceMs": JSONValue(health.unreachableSinceMs.map(Int.init)),
      "unreachableBecause": JSONValue(health.unreachableBecause?.rawValue),
      "heartbeatsFailed": .number(health.heartbeatsFailed), "workedMs": .number(Int(health.workedMs)),
      "resultsUnwanted": .number(resultsUnwanted), "dropReasons": .object(dropReasons.mapValues(JSONValue.number)),
    ]
  }
}

extension AgentEvent {
  var json: [String: JSONValue] {
    [
      "number": .number(number), "atMs": .number(Int(atMs)), "kind": .string(kind.rawValue), "text": .string(text),
    ]
  }
}
