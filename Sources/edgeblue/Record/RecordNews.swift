import AudioIngest
import Uploads

/// Something that happened to a recording, for people and for programs.
struct RecordNews {
  /// What programs call it.
  let name: String
  let fields: [String: JSON]
  private let words: (String?) -> String

  var isState: Bool { name == "state" }

  /// In words; with the name of the wearable, where that is not clear.
  func text(_ device: String?) -> String { words(device) }

  private init(_ name: String, _ fields: [String: JSON], _ words: @escaping (String?) -> String) {
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
        Self.about($0, "what it stored while nobody listened: \(status.words)")
      }
    case .recording(.began(let info)):
      self.init("segment-began", ["id": .number(info.id), "name": .string(info.name)]) {
        Self.about($0, "segment \(info.id) was begun")
      }
    case .recording(.finished(let segment)):
      self.init("segment", segment.json) { Self.about($0, "\(segment.headline), in \(segment.path.printable)") }
    case .recording(.dropped(let samples)):
      self.init("dropped", ["samples": .number(samples)]) {
        Self.about($0, "a segment had hardly any speech, and went")
      }
    case .recording(.stalled(let error)):
      self.init("stalled", ["error": .string(error.message), "hint": JSON(error.hint)]) {
        Self.about($0, "nothing can be written: \(error.message.printable); it is tried again every second")
      }
    }
  }

  static func problem(_ text: String) -> RecordNews {
    RecordNews("problem", ["error": .string(text)]) { about($0, text.printable) }
  }

  static func recovered(_ segment: FinishedSegment) -> RecordNews {
    RecordNews("recovered", segment.json) { _ in "what a recorder had left became \(segment.headline)" }
  }

  /// - Parameter item: whichever of the segment's files came last.
  static func uploaded(_ segment: Int, _ item: UploadItem) -> RecordNews {
    let key = item.request.key
    let stem = key[..<(key.lastIndex(of: ".") ?? key.endIndex)]
    let fields: [String: JSON] = [
      "id": .number(segment), "bucket": .string(item.request.bucket), "key": .string(stem + ".wav"),
    ]
    return RecordNews("uploaded", fields) { _ in "segment \(segment) is uploaded, with its sidecar" }
  }

  private static func about(_ device: String?, _ text: String) -> String { device.map { "\($0): \(text)" } ?? text }
}
