import DurableFiles
import Foundation
import Logging
import Streams
import Testing

@testable import MessageSending

/// The traces that a sender leaves, compared for an empty queue, one message and a full queue.
@Suite("Deniability of the sender", .timeLimit(.minutes(5))) struct DeniabilityTests {
  /// Everything that an observer of the disk, the log and the network sees of a sender's day, but random bytes.
  private struct Trace: Hashable {
    var steps: [String] = []
    var lines: [String] = []
    var outcomes: [SendingOutcome] = []
    var posts: [Int] = []
    var files: [String: Int] = [:]
  }

  /// A fault that a sender may have, which tells its observer about the queue.
  private enum Leak: CaseIterable {
    case flushAfterWriting, freshCoverForRetry, lineWithFillLevel
  }

  @Test("The steps on the disk, the log, the posts and the sizes of files are equal for 0, 1 and 8 messages")
  func tracesAreEqual() async throws {
    var traces: [Trace] = []
    for messages in [0, 1, 8] { traces.append(try await Self.trace(messages)) }
    #expect(traces[0] == traces[1])
    #expect(traces[0] == traces[2])
    #expect(traces[0].steps.count > 50)
    #expect(Set(traces[0].outcomes) == [.done, .skipped, .failed, .withoutCovers])
    #expect(traces[0].lines.count == traces[0].outcomes.count)
  }

  @Test(
    "A planted leak makes the traces differ: a flush after writing, a retry with a new cover, a line with the number")
  func plantedLeaksAreFound() async throws {
    for leak in Leak.allCases {
      let empty = try await Self.trace(0, leak)
      let full = try await Self.trace(8, leak)
      #expect(empty != full, "\(leak)")
    }
  }

  private static func trace(_ messages: Int, _ leak: Leak? = nil) async throws -> Trace {
    let steps = Lock<[String]>([])
    let lines = Lock<[String]>([])
    let place = try SenderPlace(
      disk: Disk { step, path in
        let name = path.split(separator: "/").last ?? ""
        // The folder has another name in each test.
        steps.withLock { $0.append("\(step) \(name.hasPrefix("edgeblue-sender") ? "." : name)") }
        return nil
      })
    for _ in 0..<messages { _ = try place.queue.append(place.covers.cover(), secret: place.secret) }
    steps.withLock { $0 = [] }
    let sender = place.sender(logger: Logger(label: "test") { _ in LineLog(lines: lines) })
    if leak == .flushAfterWriting, messages > 0 { _ = await sender.handle(.ticked) }
    // A start, a run, skipped ticks, a failed run with its retry, keys that expire, a stop.
    for (seconds, answers, isBroken) in day {
      place.wall.withLock { $0 += seconds * 1000 }
      place.server.answers.withLock { $0 = answers }
      place.covers.isBroken.withLock { $0 = isBroken }
      _ = await sender.handle(seconds == 0 ? .started : .ticked)
      if leak == .freshCoverForRetry, answers.contains(false), messages == 0 {
        try place.queue.removeHead(ifEqualTo: place.queue.head(), appending: place.covers.cover())
      }
      if leak == .lineWithFillLevel {
        lines.withLock { $0.append("\((try? place.queue.fillLevel(secret: place.secret)) ?? -1)") }
      }
    }
    place.covers.isBroken.withLock { $0 = false }
    _ = await sender.handle(.stopping)
    var trace = Trace(steps: steps.withLock { $0 }, lines: lines.withLock { $0 })
    trace.outcomes = place.outcomes.withLock { $0 }
    // A repeated post is the only thing that two ciphertexts show.
    let attempts = place.server.attempts
    trace.posts = attempts.map { attempt in attempts.firstIndex(of: attempt) ?? -1 }
    for name in try FileManager.default.contentsOfDirectory(atPath: place.folder) {
      let attributes = try FileManager.default.attributesOfItem(atPath: place.folder + "/" + name)
      trace.files[name] = attributes[.size] as? Int
    }
    return trace
  }

  /// The seconds before each event, the results of its attempts, and whether no cover can be made.
  private static let day: [(Int64, [Bool], Bool)] = [
    (0, [], false), (1015, [], false), (415, [], false), (3600, [false, false], false), (600, [true, false], false),
    (1200, [], false), (4000, [], true), (4000, [], false), (600, [], false), (3600, [], false), (3600, [], false),
  ]
}

/// A log that keeps its lines with their metadata.
private struct LineLog: LogHandler {
  let lines: Lock<[String]>
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.trace

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let fields = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    lines.withLock { $0.append("\(event.level) \(event.message) \(fields.joined(separator: " "))") }
  }
}
