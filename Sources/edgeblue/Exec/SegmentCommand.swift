import AudioIngest
import DurableFiles
import Foundation
import JSONValues

/// The command that `edgeblue record --exec` runs for each finished segment.
struct SegmentCommand: Sendable {
  /// The variables that the command gets of the recorder's environment: none of them holds a secret.
  private static let variables: Set<String> = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR"]

  /// The program and its arguments.
  let words: [String]
  let limit: Duration
  /// The sample rate of the file that the program gets; `nil` for that of the segment.
  var sampleRate: Int?

  /// - Parameters:
  ///   - text: The program and its arguments, separated by spaces; it is not read by a shell.
  ///   - limit: The time after which the program is ended.
  /// - Returns: `nil` for text without a word.
  init?(_ text: String, limit: Duration) {
    words = text.split(separator: " ").map(String.init)
    self.limit = limit
    if words.isEmpty { return nil }
  }

  /// Returns the program for a segment: the path of the WAV file is its last argument. One of another sample rate is made
  /// first, if it was not.
  /// - Throws: `AudioIngestError` if that fails.
  func program(
    for segment: FinishedSegment, in all: [String: String] = ProcessInfo.processInfo.environment
  ) throws(AudioIngestError) -> BoundedProgram {
    let audio = try segment.file(as: AudioDelivery(.wav, sampleRate: sampleRate))
    let wav = SegmentRequests.absolute(segment.path)
    var environment = all.filter { Self.variables.contains($0.key) || $0.key.hasPrefix("LC_") }
    environment["EDGEBLUE_SEGMENT"] = "\(segment.info.id)"
    environment["EDGEBLUE_SIDECAR"] = String(wav.dropLast(4)) + ".json"
    environment["EDGEBLUE_TRANSCRIPT"] = TranscriptDraft(of: segment).path
    return BoundedProgram(words: words + [SegmentRequests.absolute(audio)], environment: environment, limit: limit)
  }
}

/// What became of the command for a segment: a file beside it, which `edgeblue segments show` prints.
struct SegmentCommandResult: Codable, Equatable, Sendable {
  /// The number of times that the command was run.
  var attempts = 0
  /// The reason why the last run failed; `nil` if it succeeded.
  var problem: String?
  /// The end of the last run, in UTC, in the format of ISO 8601.
  var finishedAt = ""

  private static let limit = 64 << 10

  private static func file(_ segment: FinishedSegment) -> WholeFile {
    WholeFile(path: String(segment.path.dropLast(4)) + ".command.json", limit: limit)
  }

  /// Returns what became of a segment's command; `nil` if it has not ended yet.
  static func read(_ segment: FinishedSegment) -> SegmentCommandResult? {
    // One that cannot be read is as if there was none: the command is run again.
    guard let data = try? file(segment).read() else { return nil }
    return try? JSONDecoder().decode(Self.self, from: data)
  }

  /// The result on one line.
  var words: String {
    let time = finishedAt.printable
    guard let problem else { return "succeeded, \(time)" }
    return "failed \(attempts == 1 ? "once" : "\(attempts) times"), \(time): \(problem.printable)"
  }

  /// The fields in JSON.
  var json: JSONValue {
    .object([
      "attempts": .number(attempts), "problem": JSONValue(problem), "finishedAt": .string(finishedAt),
    ])
  }

  func write(for segment: FinishedSegment) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try Self.file(segment).write(try encoder.encode(self))
  }
}
