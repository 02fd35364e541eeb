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
  var counts: JSON { ["passed": .number(passed), "failed": .number(failed), "notRun": .number(notRun)] }

  /// The results for programs.
  var json: JSON {
    [
      "passed": .number(passed), "failed": .number(failed), "notRun": .number(notRun),
      "tests": .list(
        results.map { result in
          [
            "type": .string(result.kind.rawValue), "objective": .number(result.objective),
            "target": .string(result.target), "verdict": .string(result.verdict.word),
            "reason": JSON(result.verdict.reason),
            "startNs": .number(Int(clamping: result.startNs)),
            "durationNs": .number(Int(clamping: result.durationNs)), "values": JSON(result.values),
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

extension JSON {
  /// Creates a value from one of a control server.
  fileprivate init(_ value: JSONValue) {
    switch value {
    case .null: self = .null
    case .bool(let value): self = .bool(value)
    case .number: self = value.integer.map { .number($0) } ?? value.double.map { .decimal($0) } ?? .null
    case .string(let value): self = .string(value)
    case .array(let values): self = .list(values.map { JSON($0) })
    case .object(let members): self = .object(Dictionary(members.map { ($0.name, JSON($0.value)) }) { $1 })
    }
  }
}
