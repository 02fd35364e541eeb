import ArgumentParser
import JSONValues
import SpeedTest
import SpeedTestNIO

/// `edgeblue speedtest show`
struct SpeedTestShowCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Print a stored test.",
    discussion: """
      With --json it prints one object with the result, all raw samples, and when, where and beside which other \
      commands the test ran.
      """)

  @Argument(help: "The number of the test. Default: the newest.") var number: Int?
  @OptionGroup var state: SpeedTestFolderOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let archive = try state.folder().archive
      guard let number = try number ?? archive.numbers().last else {
        throw Failure("no speed test is stored", hint: "`edgeblue speedtest` stores each one", status: .unavailable)
      }
      let record = try archive.existing(number)
      let report = SpeedTestReport(record)
      if terminal.json {
        terminal.print(json: .object(report.json(server: record.server).merging(record.json) { $1 }))
      }
      terminal.say("Test       \(record.number), \(Terminal.clock(atMs: record.startMs))\(record.circumstances)")
      for line in SpeedTestTable(report, server: record.server, qos: record.qos).lines(terminal) { terminal.say(line) }
    }
  }
}

extension SpeedTestRecord.Control {
  /// The reference for programs.
  var json: JSONValue {
    [
      "address": .string(address), "test": .string(test), "openTest": JSONValue(openTest),
      "provider": JSONValue(provider),
    ]
  }
}

extension SpeedTestRecord.Location {
  /// The location for programs.
  fileprivate var json: JSONValue {
    [
      "latitude": .number(place.latitude), "longitude": .number(place.longitude), "error": JSONValue(error),
      "altitude": JSONValue(altitude), "speed": JSONValue(speed), "course": JSONValue(course),
      "provider": .string(provider),
      "atNs": .number(Int(nanoseconds)),
    ]
  }
}

extension SpeedTestRecord {
  /// The loop that the test belongs to, and the programs beside it, for the end of a line.
  fileprivate var circumstances: String {
    let loop = loop.map { ", test \($0.test) of a loop" } ?? ""
    return loop + (alongside.isEmpty ? "" : ", beside \(alongside.joined(separator: ", "))")
  }

  /// The fields that a report does not have.
  var json: [String: JSONValue] {
    [
      "number": .number(number), "startMs": .number(Int(startMs)), "durationMs": .number(Int(durationMs)),
      "locations": .array((locations ?? []).map(\.json)), "qos": qos?.json ?? .null, "control": control?.json ?? .null,
      "alongside": .array(alongside.map { .string($0) }),
      "loop": loop.map {
        ["id": .string($0.id.uuidString), "test": .number($0.test), "attempt": .number($0.attempt)]
      } ?? .null,
    ]
  }
}
