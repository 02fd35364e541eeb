import ArgumentParser
import SpeedTest

/// `edgeblue loop history`
struct LoopHistoryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history", abstract: "List the tests of the newest loop.",
    discussion: """
      Each attempt has a line: a test that has failed was repeated once. `edgeblue speedtest show N` prints a result as a \
      whole; N is in the last column. With --json there is one object on each line.
      """)

  @Flag(help: "Print comma-separated values, with a heading.") var csv = false
  @OptionGroup var state: SpeedTestFolderOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard !csv || !common.json else { throw ValidationError("--csv and --json exclude each other.") }
  }

  func run() async throws {
    try await common.run { terminal in
      guard let contents = try state.folder().loop.load() else {
        throw Failure("there is no loop", hint: "`edgeblue loop start` starts one", status: .unavailable)
      }
      let history = contents.state.history
      if terminal.json {
        for test in history { terminal.print(json: .object(test.json)) }
      } else if csv {
        for line in LoopHistoryTable.csv(history) { terminal.say(line) }
      } else {
        for line in LoopHistoryTable.lines(history) { terminal.say(line) }
      }
    }
  }
}

/// The history of a loop as a table.
enum LoopHistoryTable {
  static func lines(_ history: [LoopTest]) -> [String] {
    guard !history.isEmpty else { return ["No test has begun."] }
    let head = "Test  Start                Due by     Moved      Download     Upload       Ping       Result"
    return [head] + history.map(line)
  }

  private static func line(_ test: LoopTest) -> String {
    let number = test.attempt > 1 ? "\(test.number) again" : "\(test.number)"
    var line = number.padded(to: 6) + Terminal.clock(atMs: test.startMs).padded(to: 21)
    line += test.trigger.rawValue.padded(to: 11)
    line += (test.moved.map { "\(Amounts.fixed($0, 0)) m" } ?? "–").padded(to: 11)
    guard let outcome = test.outcome else { return line + "running" }
    let rates = [outcome.download.map(SpeedTestTable.rate), outcome.upload.map(SpeedTestTable.rate)]
    for rate in rates { line += (rate ?? "–").padded(to: 13) }
    line += (outcome.pingMs.map { SpeedTestTable.time($0 * 1e6) } ?? "–").padded(to: 11)
    let result = outcome.result.map { "\($0)" } ?? "–"
    let others = outcome.alongside.isEmpty ? "" : "; beside \(outcome.alongside.joined(separator: ", "))"
    guard outcome.status != .completed else { return (line + result + others).printable }
    return (line + result + "  " + outcome.status.words + (outcome.reason.map { ": \($0)" } ?? "") + others).printable
  }

  /// The heading and a line for each attempt: times in milliseconds since 1970, rates in bits per second.
  static func csv(_ history: [LoopTest]) -> [String] {
    let head =
      "test,attempt,trigger,startMs,durationMs,movedM,latitude,longitude,status,downloadBitsPerSecond,"
      + "uploadBitsPerSecond,pingMs,result,alongside,reason"
    return [head] + history.map(csvLine)
  }

  private static func csvLine(_ test: LoopTest) -> String {
    let outcome = test.outcome
    var values: [String?] = ["\(test.number)", "\(test.attempt)", test.trigger.rawValue, "\(test.startMs)"]
    values += [test.durationMs.map { "\($0)" }, test.moved.map { "\($0)" }]
    values += [test.place.map { "\($0.latitude)" }, test.place.map { "\($0.longitude)" }]
    values += [outcome?.status.rawValue, outcome?.download.map { "\($0)" }, outcome?.upload.map { "\($0)" }]
    values += [outcome?.pingMs.map { "\($0)" }, outcome?.result.map { "\($0)" }]
    values += [outcome?.alongside.joined(separator: " "), outcome?.reason]
    return CSV.line(values)
  }
}
