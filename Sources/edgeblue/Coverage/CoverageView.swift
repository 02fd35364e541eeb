import Coverage
import JSONValues
import Streams
import SystemState

/// What a run prints: its beginning, a line every 10 s, what changes in between, and its end.
final class CoverageView: Sendable {
  private struct Shown {
    var obstacle: String?
    var modem: String?
    var status: CoverageStatus?
    var lineAt = Duration.zero
  }

  private let terminal: Terminal
  private let shown = Lock(Shown())

  private static let interval = Duration.seconds(10)

  init(terminal: Terminal) { self.terminal = terminal }

  /// Prints what keeps a run from starting, when that changes.
  func waits(for reason: String) {
    let isNew = shown.withLock { shown in
      defer { shown.obstacle = reason }
      return shown.obstacle != reason
    }
    guard isNew else { return }
    terminal.happened("waiting: \(reason)", "waiting", ["reason": .string(reason)])
  }

  func started() { terminal.happened("started", "started") }

  func ended(_ ending: CoverageEnding?) {
    let words =
      switch ending {
      case .stopped: "stopped"
      case .timeLimit: "ended at the time limit"
      case .insufficientLocation: "ended: no location was precise within 30 minutes"
      case nil: "ended before the start"
      }
    terminal.happened(words, "ended", ["ending": JSONValue(ending?.rawValue)])
  }

  /// Prints the modem that pings take, when what it tells changes, or why there is none.
  func show(_ modem: CellularModem?, among update: CellularUpdate) {
    let reason =
      if case .unavailable(let reason) = update {
        reason
      } else if case .modems([]) = update {
        "there is no modem"
      } else {
        "no modem carries the pings"
      }
    let line = modem.map { "modem: \($0.line)" } ?? "the technology is unknown: \(reason)"
    let isNew = shown.withLock { shown in
      defer { shown.modem = line }
      return shown.modem != line
    }
    guard isNew else { return }
    guard let modem else {
      terminal.happened(line, "modem", ["reason": .string(reason)])
      return
    }
    terminal.happened(
      line, "modem",
      [
        "service": .string(modem.service.rawValue), "technology": .string(CoverageTechnology(modem).rawValue),
        "operator": JSONValue(modem.operatorName), "operatorCode": JSONValue(modem.operatorCode),
        "quality": JSONValue(modem.quality), "powerDbm": JSONValue(modem.signal?.power),
        "qualityDb": JSONValue(modem.signal?.quality), "sinrDb": JSONValue(modem.signal?.ratio),
      ])
  }

  func show(_ status: CoverageStatus) {
    let old = shown.withLock { shown in
      defer { shown.status = status }
      return shown.status
    }
    if let problem = status.problem, problem != old?.problem {
      terminal.happened("problem: \(problem)", "problem", ["reason": .string(problem)], paint: .red)
    }
    if let session = status.session, session != old?.session {
      terminal.happened("session \(session)", "session", ["session": .string(session)])
    }
    let warnings = old?.warnings ?? []
    for warning in status.warnings.subtracting(warnings).sorted(by: { $0.rawValue < $1.rawValue }) {
      terminal.happened(warning.words, "warning", ["warning": .string(warning.rawValue)], paint: .yellow)
    }
    let isDue = shown.withLock { shown in
      guard status.elapsed >= shown.lineAt else { return false }
      shown.lineAt = status.elapsed + Self.interval
      return true
    }
    if isDue { terminal.happened(status.line, "status", status.json) }
  }
}

extension CoverageWarning {
  fileprivate var words: String {
    switch self {
    case .imprecise: "the location is imprecise: pings do not count until it is better"
    case .wifi: "packets go over Wi-Fi: nothing is measured"
    }
  }
}

extension CoverageStatus {
  fileprivate var line: String {
    let ping =
      switch latest {
      case .notAvailable: "N/A"
      case .pending: "–"
      case .mean(let mean): "\(Amounts.fixed(mean, 1)) ms"
      }
    let error = accuracy.map { "±\(Amounts.fixed($0, 0)) m" } ?? "no location"
    return "technology \(technology.displayName), ping \(ping), \(pings.answered) of \(pings.answered + pings.lost) "
      + "answered, \(fences) fences, \(error)"
  }

  fileprivate var json: [String: JSONValue] {
    let mean: Double? = if case .mean(let mean) = latest { mean } else { nil }
    return [
      "elapsedSeconds": .number(Double(elapsed.components.seconds)), "network": .string(network.rawValue),
      "technology": .string(technology.rawValue), "session": JSONValue(session), "pingMs": JSONValue(mean),
      "answered": .number(pings.answered), "lost": .number(pings.lost), "stalled": .number(pings.stalled),
      "fences": .number(fences), "accuracy": JSONValue(accuracy),
    ]
  }
}
