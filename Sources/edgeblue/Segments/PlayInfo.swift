import AudioIngest
import JSONValues

/// The information for playing a segment.
struct PlayInfo {
  /// A stretch of speech or a gap.
  struct Cue: Hashable {
    /// The first sample, and the number of samples.
    var start: Int
    var samples: Int
    /// The name in JSON: `speech`, or the reason of a gap.
    var kind: String
    var words: String
  }

  let segment: FinishedSegment
  /// The segment that follows, and the unrecorded seconds between the two.
  let next: (segment: FinishedSegment, pause: Double)?
  /// Speech and gaps, in order.
  let cues: [Cue]

  init(_ segment: FinishedSegment, in catalog: SegmentCatalog) {
    self.segment = segment
    let info = segment.info
    next = catalog.entries.map(\.segment).first {
      $0.info.previous?.id == info.id && $0.info.device.address == info.device.address
    }
    .map { ($0, $0.info.previous?.pause ?? 0) }
    let speech = info.speech.map { Cue(start: $0.start, samples: $0.samples, kind: "speech", words: "speech") }
    let gaps = info.gaps.map {
      Cue(start: $0.start, samples: $0.samples, kind: $0.reason.rawValue, words: "gap: \($0.reason.words)")
    }
    cues = (speech + gaps).sorted { ($0.start, $0.kind) < ($1.start, $1.kind) }
  }

  var lines: [String] {
    let info = segment.info
    let file = Self.quoted(segment.path.printable)
    var lines = [
      "\(info.name).wav",
      "WAV, PCM of 16 bit, \(info.sampleRate) Hz, one channel, \(Amounts.clock(info.duration, digits: 3))", "",
      "  aplay \(file)", "  ffplay -autoexit \(file)", "",
    ]
    if cues.isEmpty { lines.append("It contains no speech and no gaps.") }
    if !cues.isEmpty {
      lines.append("AT".padded(to: 13) + "TIME OF DAY".padded(to: 15) + "LENGTH".padded(to: 11) + "CONTENT")
    }
    lines += cues.map { cue in
      Amounts.clock(info.seconds(cue.start), digits: 3).padded(to: 13)
        + info.clock(at: cue.start, digits: 3).padded(to: 15)
        + "\(Amounts.fixed(info.seconds(cue.samples), 3)) s".padded(to: 11) + cue.words
    }
    if let next {
      let pause = next.pause > 0 ? "after a pause of \(Amounts.clock(next.pause, digits: 3))" : "without a pause"
      lines += ["", "Segment \(next.segment.info.id) follows \(pause):", "  \(next.segment.path.printable)"]
    }
    return lines
  }

  var json: [String: JSONValue] {
    let info = segment.info
    return [
      "path": .string(segment.path), "format": "wav", "encoding": "pcm_s16le", "sampleRate": .number(info.sampleRate),
      "channels": 1, "samples": .number(info.samples), "duration": .number(info.duration),
      "capturedAt": .string(info.capture.iso8601),
      "cues": .array(
        cues.map {
          .object(["start": .number($0.start), "samples": .number($0.samples), "kind": .string($0.kind)])
        }),
      "next": next.map {
        .object(["id": .number($0.segment.info.id), "path": .string($0.segment.path), "pause": .number($0.pause)])
      } ?? .null,
    ]
  }

  /// Returns the path quoted for a shell.
  private static func quoted(_ path: String) -> String { "'" + path.replacing("'", with: "'\\''") + "'" }
}
