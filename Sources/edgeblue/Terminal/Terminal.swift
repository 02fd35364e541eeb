import Foundation
import JSONValues

/// The output of a command: text for a user, or one JSON object per line for a program.
struct Terminal: Sendable {
  let json: Bool
  /// A Boolean value that indicates whether standard output is a terminal in which lines can be redrawn.
  let isLive: Bool
  /// A Boolean value that indicates whether standard output is a terminal of any kind.
  private let isTerminal: Bool
  private let isColoured: Bool
  /// A Boolean value that indicates whether standard output is the journal, which has a clock of its own.
  private let isJournal: Bool

  init(json: Bool) {
    let environment = ProcessInfo.processInfo.environment
    self.json = json
    isTerminal = isatty(STDOUT_FILENO) == 1
    isJournal = Journal.isBehind(STDOUT_FILENO, environment["JOURNAL_STREAM"])
    isLive = !json && isTerminal && environment["TERM"] != "dumb"
    isColoured = isLive && environment["NO_COLOR"] == nil
  }

  /// The number of columns that lines are cut to: those of the terminal, 80 at least; `nil` for a file or a pipe, which get
  /// whole lines.
  var columns: Int? { isTerminal ? max(LiveScreen.width ?? 80, 80) : nil }

  /// The number of columns that text is wrapped at: those of the terminal, 60 at least; `nil` for a file or a pipe.
  var wrapColumns: Int? { isTerminal ? max(LiveScreen.width ?? 80, 60) : nil }

  /// Returns text behind a label, wrapped for the terminal.
  func lines(_ text: String, behind label: String) -> [String] {
    wrapColumns.map { text.lines(behind: label, columns: $0) } ?? [label + text]
  }

  /// Prints lines in text mode, and nothing in JSON mode.
  ///
  /// Names and messages come from devices, servers and files: whatever they contain, only colours reach the terminal.
  func say(_ text: String = "") {
    if !json { Output.write(text.printablePainted(keepsLines: true) + "\n") }
  }

  /// Prints an event: a line with the time in text mode, an object with all fields in JSON mode.
  /// - Parameter severity: The severity of the line in the journal.
  func happened(
    _ text: String, _ event: String, _ fields: [String: JSONValue] = [:], paint colour: Paint? = nil,
    severity: Journal.Severity = .info
  ) {
    if json {
      print(json: .object(fields.merging(["event": .string(event), "time": .string(Self.timestamp())]) { $1 }))
    } else if isJournal {
      Output.write(severity.marked(text.printableLines))
    } else {
      let shown = text.printableLines
      Output.write("\(paint(Self.clock(), .dim))  \(colour.map { paint(shown, $0) } ?? shown)\n")
    }
  }

  /// Prints one JSON object, in either mode.
  func print(json value: JSONValue) {
    var bytes = value.lineBytes
    bytes.append(UInt8(ascii: "\n"))
    Output.write(bytes)
  }

  /// Prints a report: as JSON in JSON mode, as lines otherwise.
  func print(_ report: some Report) {
    if json { print(json: .object(report.json)) }
    for line in report.lines { say(line) }
  }

  /// Prints the reason why the command fails.
  func fail(_ failure: Failure) {
    if json {
      print(
        json: .object([
          "event": "error", "error": .string(failure.message), "hint": failure.hint.map { .string($0) } ?? .null,
          "exitStatus": .number(Int(failure.status.rawValue)),
        ]))
    }
    // The text may come from a device or a server.
    let text =
      "edgeblue: \(failure.message.printableLines)\n"
      + (failure.hint.map { "          \($0.printableLines)\n" } ?? "")
    let isJournal = Journal.isBehind(STDERR_FILENO, ProcessInfo.processInfo.environment["JOURNAL_STREAM"])
    Output.write(isJournal ? Journal.Severity.error.marked(text) : text, to: STDERR_FILENO)
  }

  /// Prints progress to standard error in text mode, so that it never mixes with the result.
  func whisper(_ text: String) {
    guard !json else { return }
    Output.write("\(text.printableLines)\n", to: STDERR_FILENO)
  }

  /// Returns text of a device or server as a terminal may show it; a file or a pipe gets it unchanged.
  func shown(_ text: String) -> String { isTerminal ? text.printableLines : text }

  enum Paint: String, CaseIterable {
    case dim = "2"
    case bold = "1"
    case red = "31"
    case green = "32"
    case yellow = "33"

    fileprivate static let end = "\u{1b}[0m"

    fileprivate var begin: String { "\u{1b}[\(rawValue)m" }

    /// The control sequences of all colours.
    static let sequences = [end] + allCases.map(\.begin)
  }

  /// Returns the text in a colour, if the terminal shows colours.
  func paint(_ text: String, _ paint: Paint) -> String {
    isColoured ? paint.begin + text + Paint.end : text
  }

  /// Returns the local wall-clock time, to the second.
  static func clock() -> String { clock(time(nil)).time }

  /// Returns the local date and wall-clock time, to the second, of an instant in milliseconds since 1970.
  static func clock(atMs instant: Int64) -> String {
    let (day, time) = clock(Int(instant / 1000))
    return "\(day) \(time)"
  }

  private static func clock(_ instant: time_t) -> (day: String, time: String) {
    var instant = instant
    var parts = tm()
    localtime_r(&instant, &parts)
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return (
      "\(Int(parts.tm_year) + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))",
      "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
    )
  }

  private static func timestamp() -> String {
    Date().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
  }
}

/// A value that a command prints, as text or as a JSON object.
protocol Report {
  var json: [String: JSONValue] { get }
  var lines: [String] { get }
}
