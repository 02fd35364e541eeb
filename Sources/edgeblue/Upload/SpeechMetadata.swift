import AudioIngest

/// The speech of a segment as metadata of its objects, which a server limits to 2 KB: the sum of it, and as many ranges
/// as fit. The sidecar lists all of them.
struct SpeechMetadata {
  /// The largest length of the list of ranges in bytes; everything else has less than 1 KB.
  static let limit = 900

  let info: SegmentInfo

  init(_ info: SegmentInfo) { self.info = info }

  /// `speech-seconds`, `speech-stretches`, and `speech`: `0.52-3.10,7.00-9.26`, in seconds from the start.
  var fields: [String: String] {
    let total = info.speech.reduce(0) { $0 + $1.samples }
    return [
      "speech-seconds": Self.seconds(total, info.sampleRate), "speech-stretches": "\(info.speech.count)",
      "speech": ranges,
    ].filter { !$0.value.isEmpty }
  }

  private var ranges: String {
    var text = ""
    for speech in info.speech {
      let start = Self.seconds(speech.start, info.sampleRate)
      let end = Self.seconds(speech.start + speech.samples, info.sampleRate)
      let next = (text.isEmpty ? "" : ",") + "\(start)-\(end)"
      guard text.utf8.count + next.utf8.count <= Self.limit else { break }
      text += next
    }
    return text
  }

  /// A number of samples in seconds, with hundredths.
  private static func seconds(_ samples: Int, _ rate: Int) -> String {
    let hundredths = samples * 100 / max(rate, 1)
    let rest = hundredths % 100
    return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
  }
}
