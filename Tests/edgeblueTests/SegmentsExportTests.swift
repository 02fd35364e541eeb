import Foundation
import Testing

@testable import edgeblue

@Suite("The command segments export") struct SegmentsExportTests {
  @Test(
    "Times are read with a zone",
    arguments: [
      ("2026-11-22T00:45:00Z", 1_795_308_300_000), ("2026-11-22T00:45Z", 1_795_308_300_000),
      ("2026-11-22T00:45:00.250Z", 1_795_308_300_250), ("2026-11-22T01:45:00+01:00", 1_795_308_300_000),
      ("2026-11-21 19:15:00-0530", 1_795_308_300_000), ("1969-12-31T23:59:59Z", -1000),
    ] as [(String, Int64)])
  func timesWithAZone(_ text: String, _ expected: Int64) {
    #expect(RecordingTime(text)?.unixMs == expected)
  }

  @Test("Times without a zone are local") func localTimes() throws {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .current
    func local(_ month: Int, _ day: Int, _ hour: Int = 0, _ minute: Int = 0, _ second: Int = 0) -> Date? {
      calendar.date(
        from: DateComponents(year: 2026, month: month, day: day, hour: hour, minute: minute, second: second))
    }
    func date(_ text: String) -> Date? {
      RecordingTime(text, now: local(11, 22, 17) ?? .now).map { Date(timeIntervalSince1970: Double($0.unixMs) / 1000) }
    }
    #expect(date("2026-07-01") == local(7, 1))
    #expect(date("2026-07-01 08:30") == local(7, 1, 8, 30))
    #expect(date("2026-07-01T08:30:15") == local(7, 1, 8, 30, 15))
    #expect(date("08:30") == local(11, 22, 8, 30))
    #expect(date("08:30:59") == local(11, 22, 8, 30, 59))
  }

  @Test(
    "What is no time is rejected",
    arguments: [
      "", "now", "2026", "2026-13-01", "2026-02-29", "2026-11-31T00:00Z", "2026-11-22T24:00", "08:60", "8:30",
      "2026-11-22T00:45:00+25:00", "2026-11-22T00:45:00Zz", "20261122T004500Z",
    ])
  func whatIsNoTime(_ text: String) {
    #expect(RecordingTime(text) == nil)
  }

  @Test(
    "The examples of the help can be parsed",
    arguments: [
      "--from 08:00 --to 12:30 --join -o morning.flac", "--from 2026-11-22 --to 2026-11-23 --format opus -o sunday",
      "--join --rate 16000 --pauses closed -o speech.wav", "--wearable FA:0B:00:00:00:01 --replace --json",
    ])
  func theHelpIsRight(_ words: String) throws {
    let words = ["segments", "export"] + words.split(separator: " ").map(String.init)
    #expect(try EdgeBlueCommand.parseAsRoot(words) is SegmentsExportCommand)
  }

  @Test(
    "A contradiction is rejected",
    arguments: [
      "--from 12:00 --to 08:00", "--pauses closed", "--join -o day.mp3", "--join -o day", "--rate 7999", "--format mp3",
      "--join -o day.wav --format flac", "--from yesterday",
    ])
  func contradictions(_ words: String) {
    let words = ["segments", "export"] + words.split(separator: " ").map(String.init)
    #expect(throws: (any Error).self) { try EdgeBlueCommand.parseAsRoot(words) }
  }
}
