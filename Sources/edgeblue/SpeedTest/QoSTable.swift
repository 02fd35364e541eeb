import JSONValues
import SpeedTest

extension QoSReport {
  /// The lines of the table: the count, and each test that did not pass with its reason.
  func lines(_ terminal: Terminal) -> [String] {
    let rest = [
      failed > 0 ? "\(failed) failed" : nil, notRun > 0 ? "\(notRun) could not run" : nil,
    ].compactMap(\.self)
    let count = "\(passed) of \(results.count) passed".padded(to: 18)
    let colour: Terminal.Paint = failed > 0 ? .yellow : .green
    var lines = ["QoS        \(terminal.paint(count, colour))\(rest.joined(separator: ", "))"]
    for result in results {
      guard let reason = result.verdict.reason else { continue }
      let isRun = if case .notRun = result.verdict { false } else { true }
      let words = "  \(result.kind.words) \(result.target): \(isRun ? "" : "could not run: ")\(reason)"
      lines.append(words.printable)
    }
    return lines
  }

  /// The numbers of tests for programs.
  var counts: JSONValue { ["passed": .number(passed), "failed": .number(failed), "notRun": .number(notRun)] }

  /// The results for programs.
  var json: JSONValue {
    [
      "passed": .number(passed), "failed": .number(failed), "notRun": .number(notRun),
      "tests": .array(
        results.map { result in
          [
            "type": .string(result.kind.rawValue), "objective": .number(result.objective),
            "target": .string(result.target), "verdict": .string(result.verdict.word),
            "reason": JSONValue(result.verdict.reason),
            "startNs": .number(Int(clamping: result.startNs)),
            "durationNs": .number(Int(clamping: result.durationNs)), "values": result.values,
          ]
        }),
    ]
  }
}

extension QoSVerdict {
  /// The verdict in a word.
  fileprivate var word: String {
    switch self {
    case .passed: "passed"
    case .failed: "failed"
    case .notRun: "not run"
    }
  }

  /// The reason of a test that did not pass.
  fileprivate var reason: String? {
    switch self {
    case .passed: nil
    case .failed(let reason): reason
    case .notRun(let reason): reason
    }
  }
}

extension QoSKind {
  /// The kind in words.
  fileprivate var words: String {
    switch self {
    case .tcp: "TCP"
    case .udp: "UDP"
    case .voip: "call"
    case .nonTransparentProxy: "line unchanged"
    case .httpProxy: "file"
    case .website: "page"
    case .dns: "DNS"
    case .traceroute, .tracerouteMasked: "route to"
    }
  }
}
