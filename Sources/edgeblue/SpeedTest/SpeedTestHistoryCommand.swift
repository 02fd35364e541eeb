import ArgumentParser
import JSONValues
import SpeedTest

/// `edgeblue speedtest history`
struct SpeedTestHistoryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history", abstract: "List the stored tests, the oldest first.",
    discussion: """
      The newest \(SpeedTestArchive.capacity) tests are stored. With --json there is one object on each line, without \
      samples. Rates are in bits per second, times in milliseconds.
      """)

  @Option(help: ArgumentHelp("List the newest tests alone, this many.", valueName: "n")) var last: Int?
  @Flag(help: "Print comma-separated values, with a heading.") var csv = false
  @OptionGroup var state: SpeedTestFolderOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard !csv || !common.json else { throw ValidationError("--csv and --json exclude each other.") }
    guard (last ?? 1) > 0 else { throw ValidationError("--last: allowed are 1 and more.") }
  }

  func run() async throws {
    try await common.run { terminal in
      let folder = try state.folder()
      let archive = folder.archive
      let numbers = try archive.numbers().suffix(last ?? .max)
      if csv { terminal.say(Self.heading) }
      if numbers.isEmpty, !csv { terminal.say("No speed test is stored in \(folder.path.printable).") }
      if !numbers.isEmpty, !csv { terminal.say(Self.title) }
      var damaged: SpeedTestError?
      for number in numbers {
        do {
          // Another process may have removed it meanwhile.
          guard let record = try archive.record(number) else { continue }
          show(record, terminal)
        } catch let error as SpeedTestError where error.code == .damagedFile {
          damaged = error
        }
      }
      // All others first.
      if let damaged { throw damaged }
    }
  }

  private static let title = "Test    Start                Server                  Download     Upload       Ping"
  private static let heading =
    "test,startMs,durationMs,server,downloadBitsPerSecond,uploadBitsPerSecond,pingMs,"
    + "jitterMs,threads,failedIn,reason,loop,loopTest,alongside"

  private func show(_ record: SpeedTestRecord, _ terminal: Terminal) {
    if terminal.json { terminal.print(json: .object(record.summary)) }
    terminal.say(csv ? record.csv : record.line)
  }
}

extension SpeedTestRecord {
  fileprivate var line: String {
    let result = result
    var line =
      "\(number)".padded(to: 8) + Terminal.clock(atMs: startMs).padded(to: 21) + server.printable.padded(to: 24)
    for direction in [result.download, result.upload] {
      line += (direction.map { SpeedTestTable.rate($0.throughput.bitsPerSecond) } ?? "–").padded(to: 13)
    }
    line += result.latency.map { SpeedTestTable.time($0.median) } ?? "–"
    let failure = result.failure.map {
      "  ended in the phase \($0.phase.words)" + ($0.error.map { ": \($0.message)" } ?? "")
    }
    return line + (failure?.printable ?? "")
  }

  /// The result without its samples.
  fileprivate var summary: [String: JSONValue] {
    let result = result
    let values: [String: JSONValue] = [
      "server": .string(server), "threads": .number(result.threads),
      "downloadBitsPerSecond": JSONValue(result.download?.throughput.bitsPerSecond),
      "uploadBitsPerSecond": JSONValue(result.upload?.throughput.bitsPerSecond),
      "pingMs": JSONValue(result.latency.map { $0.median / 1e6 }),
      "jitterMs": JSONValue(result.latency.map { $0.jitter / 1e6 }),
      "qos": qos?.counts ?? .null, "failedIn": JSONValue(result.failure?.phase.rawValue),
      "reason": JSONValue(result.failure?.error?.message),
    ]
    return json.merging(values) { $1 }
  }

  fileprivate var csv: String {
    let result = result
    let rates = [result.download, result.upload].map { $0.map { "\($0.throughput.bitsPerSecond)" } }
    let times = [result.latency?.median, result.latency?.jitter].map { $0.map { "\($0 / 1e6)" } }
    var values: [String?] = ["\(number)", "\(startMs)", "\(durationMs)", server] + rates + times
    values += ["\(result.threads)", result.failure?.phase.rawValue, result.failure?.error?.message]
    values += [loop?.id.uuidString, loop.map { "\($0.test)" }, alongside.joined(separator: " ")]
    return CSV.line(values)
  }
}
