import Foundation

/// Where a command prints: text for people, or one JSON object a line for programs.
struct Terminal: Sendable {
  let json: Bool
  /// Whether a person looks at a terminal in which lines can be drawn over.
  let isLive: Bool
  private let isColoured: Bool

  init(json: Bool) {
    let environment = ProcessInfo.processInfo.environment
    self.json = json
    isLive = !json && isatty(STDOUT_FILENO) == 1 && environment["TERM"] != "dumb"
    isColoured = isLive && environment["NO_COLOR"] == nil
  }

  /// Prints a line for people; programs do not see it.
  func say(_ text: String = "") {
    if !json { Output.write(text + "\n") }
  }

  /// Prints something that happened: for people with the time, for programs with all there is to know.
  func happened(_ text: String, _ event: String, _ fields: [String: JSON] = [:]) {
    if json {
      print(json: .object(fields.merging(["event": .string(event), "time": .string(Self.timestamp())]) { $1 }))
    } else {
      Output.write("\(paint(Self.clock(), .dim))  \(text)\n")
    }
  }

  /// Prints one JSON object, whatever the mode.
  func print(json value: JSON) {
    Output.write(value.text + "\n")
  }

  /// Says why the command ends without success.
  func fail(_ failure: Failure) {
    if json {
      print(
        json: .object([
          "event": "error", "error": .string(failure.message), "hint": failure.hint.map { .string($0) } ?? .null,
          "exitStatus": .number(Int(failure.status.rawValue)),
        ]))
    }
    let text = "edgeblue: \(failure.message)\n" + (failure.hint.map { "          \($0)\n" } ?? "")
    Output.write(text, to: STDERR_FILENO)
  }

  /// A hint about what is going on, to standard error: never mixed with an answer that goes elsewhere.
  func whisper(_ text: String) {
    guard !json else { return }
    Output.write("\(text)\n", to: STDERR_FILENO)
  }

  enum Paint: String {
    case dim = "2"
    case bold = "1"
    case red = "31"
    case green = "32"
    case yellow = "33"
  }

  /// The text in a colour, where colours are wanted.
  func paint(_ text: String, _ paint: Paint) -> String {
    isColoured ? "\u{1b}[\(paint.rawValue)m\(text)\u{1b}[0m" : text
  }

  /// Local wall time, to the second.
  static func clock() -> String { clock(time(nil)).time }

  /// The day and the local wall time, to the second, of an instant in milliseconds since 1970.
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
