import JSONValues

/// The result of one check.
struct Finding: Sendable, Hashable {
  enum Level: String, Sendable, Comparable {
    case ok, warn, fail

    static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }

    private var rank: Int {
      switch self {
      case .ok: 0
      case .warn: 1
      case .fail: 2
      }
    }
  }

  /// The subject of the check, in one or two words.
  var check: String
  var level: Level
  /// The result, for display.
  var message: String
  /// The action that corrects the fault.
  var fix: String?

  init(_ check: String, _ level: Level, _ message: String, fix: String? = nil) {
    self.check = check
    self.level = level
    self.message = message
    self.fix = fix
  }

  var json: JSONValue {
    .object([
      "check": .string(check), "level": .string(level.rawValue), "message": .string(message), "fix": JSONValue(fix),
    ])
  }

  func show(on terminal: Terminal) {
    let colour: Terminal.Paint =
      switch level {
      case .ok: .green
      case .warn: .yellow
      case .fail: .red
      }
    terminal.say("\(terminal.paint(level.rawValue.padded(to: 6), colour))\(check.padded(to: 14))\(message)")
    if let fix { terminal.say(String(repeating: " ", count: 20) + "→ \(fix)") }
  }
}
