import AudioIngest
import AudioWearables
import JSONValues
import Uploads

/// An event of a recording, for display and as JSON.
struct RecordNews {
  /// The name of the event in JSON.
  let name: String
  let fields: [String: JSONValue]
  private let words: (String?) -> String

  var isState: Bool { name == "state" }

  /// Returns the event for display, with the name of the wearable if there are several.
  func text(_ device: String?) -> String { words(device) }

  private init(_ name: String, _ fields: [String: JSONValue], _ words: @escaping (String?) -> String) {
    self.name = name
    self.fields = fields
    self.words = words
  }

  init(_ event: WearableRecorder.Event) {
    switch event {
    case .state(let state):
      self.init("state", ["state": .string(state.rawValue)]) { "\($0 ?? "The wearable"): \(state.words)" }
    case .problem(let text): self = .problem(text)
    case .stored(let status):
      self.init("stored", status.json) {
        Self.about($0, "stored recordings: \(status.words)")
      }
    case .recording(.began(let info)):
      self.init("segment-began", ["id": .number(info.id), "name": .string(info.name)]) {
        Self.about($0, "segment \(info.id) started")
      }
    case .recording(.finished(let segment)):
      self.init("segment", segment.json) { Self.about($0, "\(segment.headline), in \(segment.path.printable)") }
    case .recording(.dropped(let samples)):
      self.init("dropped", ["samples": .number(samples)]) {
        Self.about($0, "a segment without speech was discarded")
      }
    case .recording(.stalled(let error)):
      self.init("stalled", ["error": .string(error.message), "hint": JSONValue(error.hint)]) {
        Self.about($0, "write failed: \(error.message.printable); retrying every second")
      }
    }
  }

  static func problem(_ text: String) -> RecordNews {
    RecordNews("problem", ["error": .string(text)]) { about($0, text.printable) }
  }

  /// Returns the problem of a segment that begins after the present time, because the clock was set back; `nil` if it
  /// does not.
  static func early(_ info: SegmentInfo, nowMs: Int64) -> RecordNews? {
    let seconds = (info.capture.unixMs - nowMs) / 1000
    guard seconds > 0 else { return nil }
    return .problem(
      "the clock is \(seconds) s behind the last segment; until it has caught up, capture times continue from there")
  }

  static func recovered(_ segment: FinishedSegment) -> RecordNews {
    RecordNews("recovered", segment.json) { _ in "recovered \(segment.headline)" }
  }

  static func command(_ news: SegmentCommands.News) -> RecordNews {
    switch news {
    case .succeeded(let segment):
      return RecordNews("command", ["id": .number(segment.info.id)]) { _ in
        "the command for segment \(segment.info.id) has ended"
      }
    case .failed(let segment, let problem, let retry):
      let fields: [String: JSONValue] = [
        "id": .number(segment.info.id), "error": .string(problem),
        "retrySeconds": JSONValue(retry.map { Int($0.components.seconds) }),
      ]
      let next = retry.map { "it is run again in \($0.components.seconds) s" } ?? "the next recorder runs it again"
      return RecordNews("command-failed", fields) { _ in
        "the command for segment \(segment.info.id) failed: \(problem.printable); \(next)"
      }
    }
  }

  /// - Parameter count: The number of segments that the command has not ended for when the recording ends.
  static func lastCommands(_ count: Int) -> RecordNews {
    RecordNews("commands-waiting", ["segments": .number(count)]) { _ in
      "running the command for \(segments(count)); Ctrl-C stops it"
    }
  }

  /// - Parameter count: The number of segments that the command was not run for.
  static func commandsLeft(_ count: Int) -> RecordNews {
    RecordNews("commands-left", ["segments": .number(count)]) { _ in
      "the command was not run for \(segments(count)); the next recorder runs it"
    }
  }

  private static func segments(_ count: Int) -> String { count == 1 ? "1 segment" : "\(count) segments" }

  /// - Parameter item: The audio of the segment.
  static func uploaded(_ segment: Int, _ item: UploadItem) -> RecordNews {
    let fields: [String: JSONValue] = [
      "id": .number(segment), "bucket": .string(item.request.bucket), "key": .string(item.request.key),
    ]
    return RecordNews("uploaded", fields) { _ in "segment \(segment) and its sidecar are uploaded" }
  }

  private static func about(_ device: String?, _ text: String) -> String { device.map { "\($0): \(text)" } ?? text }
}
