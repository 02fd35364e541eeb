import Foundation
import Testing

@testable import Agent

@Suite("The event log") struct EventLogTests {
  private let folder: URL
  private let path: String

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "edgeblue-events-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    path = folder.appending(path: "events.jsonl").path
  }

  private func remove() { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }

  private func append(_ text: String) throws {
    let file = try FileHandle(forWritingTo: URL(filePath: path))
    try file.seekToEnd()
    try file.write(contentsOf: Data(text.utf8))
    try file.close()
  }

  @Test("Events are restored after a restart") func eventsAreThereAgain() throws {
    defer { remove() }
    let log = EventLog(path: path) { 1_700_000_000_123 }
    #expect(log.count == 0)
    #expect(log.newest().isEmpty)
    log.append(.chosen, "a person “chose”\nsomething")
    log.append(.failed, "x")
    #expect(log.newest(1).map(\.number) == [2])
    #expect(log.problem == nil)
    // The first run's object is still there, as a killed program's file is.
    let again = EventLog(path: path)
    #expect(again.newest() == log.newest())
    #expect(again.count == 2)
    let first = AgentEvent(number: 1, atMs: 1_700_000_000_123, kind: .chosen, text: "a person “chose”\nsomething")
    #expect(again.newest().first == first)
    let rights = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(rights == 0o600)
  }

  /// A line that a crash cut off, and lines of others, cost only themselves.
  @Test("Corrupt lines of the log are ignored") func damagedLinesArePassedOver() throws {
    defer { remove() }
    EventLog(path: path).append(.applied, "one")
    try append("garbage\n\n{}\n" + #"{"atMs":1,"kind":"later","number":2,"text":"of a later program"}"# + "\n")
    try append(#"{"atMs":1,"kind":"chosen","number":9223372036854775807,"text":"no number of ours"}"# + "\n")
    try append(#"{"atMs":1,"kind":"cho"#)
    let log = EventLog(path: path)
    #expect(log.newest().map(\.text) == ["one", "of a later program"])
    log.append(.chosen, "three")
    #expect(EventLog(path: path).newest().map(\.number) == [1, 2, 3])
  }

  @Test("The log has at most two files") func thereAreNeverMoreThanTwoFiles() throws {
    defer { remove() }
    let log = EventLog(path: path)
    let text = String(repeating: "ä", count: 3000)
    for _ in 0..<700 { log.append(.failed, text) }
    let sizes = try [path, path + ".1"].map { file in
      try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int ?? 0
    }
    #expect(sizes.allSatisfy { (1...EventLog.fileLimit).contains($0) })
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 2)
    #expect(log.newest().count == 512)
    #expect(log.newest().last?.text.count == 1000)
    // Across the two of them, without a gap.
    let numbers = EventLog(path: path).newest().map(\.number)
    #expect(numbers.last == 700)
    #expect(numbers == Array((numbers.first ?? 0)...700))
    #expect(numbers.count > 100)
  }

  /// A symbolic link is not followed.
  @Test("An event that cannot be written is reported") func whatCannotBeWrittenIsSaid() throws {
    defer { remove() }
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/null")
    let log = EventLog(path: path)
    log.append(.applied, "one")
    #expect(log.problem?.errno == ELOOP)
    #expect(log.unwritten == 1)
    #expect(log.newest().count == 1)
    try FileManager.default.removeItem(atPath: path)
    log.append(.applied, "two")
    #expect(log.problem == nil)
    #expect(log.unwritten == 1)
    #expect(EventLog(path: path).newest().map(\.number) == [2])
  }

  @Test("Subscribers receive appended events") func readersHearOfThem() async {
    let log = EventLog(path: nil)
    let events = log.events(limit: 2)
    defer { remove() }
    for text in ["one", "two", "three"] { log.append(.applied, text) }
    var iterator = events.makeAsyncIterator()
    #expect(await iterator.next()?.text == "two")
    #expect(await iterator.next()?.text == "three")
    #expect(events.dropped == 1)
  }
}
