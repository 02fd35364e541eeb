import Coverage
import JSONValues
import Streams
import SystemState

/// What a run prints: its beginning, a line at an interval, what changes in between, and its end.
final class CoverageView: Sendable {
  private struct Shown {
    var obstacle: String?
    var modem: String?
    var status: CoverageStatus?
    var lineAt = Duration.zero
  }

  private let terminal: Terminal
  /// The interval of the lines with figures; `nil` for none.
  private let interval: Duration?
  /// `true` if the program does more than measure, so that each line names what it is about.
  private let isPart: Bool
  private let shown = Lock(Shown())

  init(terminal: Terminal, interval: Duration? = .seconds(10), isPart: Bool = false) {
    self.terminal = terminal
    self.interval = interval
    self.isPart = isPart
  }

  private func happened(
    _ text: String, _ event: String, _ fields: [String: JSONValue] = [:], paint: Terminal.Paint? = nil
  ) {
    terminal.happened(
      isPart ? "coverage: \(text)" : text, isPart ? "coverage-\(event)" : event, fields, paint: paint)
  }

  func show(_ news: CoverageNews) {
    switch news {
    case .waits(let reason): waits(for: reason)
    case .started: happened("started", "started")
    case .modem(let modem, let update): show(modem, among: update)
    case .status(let status): show(status)
    // The warnings of the status say so too, and the source is waited for at the start alone.
    case .obstacle, .source: break
    }
  }

  /// Prints what keeps a run from starting, when that changes.
  private func waits(for reason: String) {
    let isNew = shown.withLock { shown in
      defer { shown.obstacle = reason }
      return shown.obstacle != reason
    }
    guard isNew else { return }
    happened("waiting: \(reason)", "waiting", ["reason": .string(reason)])
  }

  func ended(_ ending: CoverageEnding?) {
    let words =
      switch ending {
      case .stopped: "stopped"
      case .timeLimit: "ended at the time limit"
      case .insufficientLocation: "ended: no location was precise within 30 minutes"
      case nil: "ended before the start"
      }
    happened(words, "ended", ["ending": JSONValue(ending?.rawValue)])
  }

  /// Prints the modem that pings take, when what it tells changes, or why there is none.
  private func show(_ modem: CellularModem?, among update: CellularUpdate) {
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
      happened(line, "modem", ["reason": .string(reason)])
      return
    }
    happened(
      line, "modem",
      [
        "service": .string(modem.service.rawValue), "technology": .string(CoverageTechnology(modem).rawValue),
        "operator": JSONValue(modem.operatorName), "operatorCode": JSONValue(modem.operatorCode),
        "quality": JSONValue(modem.quality), "powerDbm": JSONValue(modem.signal?.power),
        "qualityDb": JSONValue(modem.signal?.quality), "sinrDb": JSONValue(modem.signal?.ratio),
      ])
  }

  private func show(_ status: CoverageStatus) {
    let old = shown.withLock { shown in
      defer { shown.status = status }
      return shown.status
    }
    if let problem = status.problem, problem != old?.problem {
      happened("problem: \(problem)", "problem", ["reason": .string(problem)], paint: .red)
    }
    if let session = status.session, session != old?.session {
      happened("session \(session)", "session", ["session": .string(session)])
    }
    let warnings = old?.warnings ?? []
    for warning in status.warnings.subtracting(warnings).sorted(by: { $0.rawValue < $1.rawValue }) {
      happened(warning.words, "warning", ["warning": .string(warning.rawValue)], paint: .yellow)
    }
    let isDue = shown.withLock { shown in
      guard let interval, status.elapsed >= shown.lineAt else { return false }
      shown.lineAt = status.elapsed + interval
      return true
    }
    if isDue { happened(status.line, "status", status.json) }
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
