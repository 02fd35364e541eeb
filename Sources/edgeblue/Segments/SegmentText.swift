import AudioIngest
import Foundation
import JSONValues

extension SegmentCatalog {
  /// The table of segments and the problems, for display.
  var lines: [String] {
    var lines = entries.map(\.line)
    if lines.isEmpty {
      lines = ["\(path.printable) contains no segments."]
    } else {
      lines.insert(Self.heading, at: 0)
    }
    if openCount > 0 {
      let them = openCount == 1 ? "1 segment is" : "\(openCount) segments are"
      lines.append("\(them) open, or left by a crash; `edgeblue segments repair` recovers those.")
    }
    return lines + problems.flatMap(\.lines)
  }

  static let heading =
    "NUMBER " + "RECORDED".padded(to: 20) + "LENGTH".padded(to: 8) + "DEVICE".padded(to: 13) + "MISSING".padded(to: 10)
    + "ENDED BY".padded(to: 13) + "DELIVERED"
}

extension AudioIngestError {
  /// The problem of a recording, for display.
  var lines: [String] { message.printable.lines(behind: "problem: ") }
}

extension SegmentCatalog.Entry {
  /// The segment as a row of the table, which fits the 80 columns of a terminal.
  fileprivate var line: String {
    let info = segment.info
    let number = "\(info.id)"
    return String(repeating: " ", count: max(6 - number.count, 0)) + number + " "
      + "\(info.capture.localDate) \(info.clock(at: 0))".padded(to: 20) + Amounts.clock(info.duration).padded(to: 8)
      + (info.device.name?.printable ?? info.device.address.printable).cut(to: 12).padded(to: 13)
      + (info.missingSamples > 0 ? "\(Amounts.fixed(info.seconds(info.missingSamples), 2)) s" : "–").padded(to: 10)
      + info.closedBy.words.padded(to: 13) + (isDelivered ? "yes" : "no")
  }

  /// All fields of the segment, for display.
  /// - Parameter allGaps: `true` to list every gap, also if there are many.
  func lines(allGaps: Bool = false) -> [String] {
    let info = segment.info
    let time = "\(info.capture.localDate) \(info.clock(at: 0)) (\(info.capture.timeZone.printable))"
    var lines =
      Self.row("Segment", "\(info.id), \(info.name)")
      + Self.row("Recorded", "\(time), \(Amounts.clock(info.duration, digits: 3))")
      + Self.row("Device", (info.device.name.map { "\($0.printable), " } ?? "") + info.device.address.printable)
      + Self.row("Audio", "\(info.codec.words); WAV file: \(info.sampleRate) Hz, 16 bit, mono")
      + Self.row("Level", "\(Amounts.decibels(info.measured.peak)) peak, \(Amounts.decibels(info.measured.rms)) RMS")
      + Self.row("Ended by", info.closedBy.words)
    if let backfill = info.backfill {
      lines += Self.row("Stored", "by the device while it was not connected; \(backfill.clock.words)")
      for gap in backfill.fills { lines += Self.row("", gap.words) }
    }
    if let before = info.previous {
      let pause = Amounts.clock(before.pause, digits: 1)
      lines += Self.row("Previous", "segment \(before.id), ended by \(before.closedBy.words), \(pause) earlier")
    }
    return lines + contents(allGaps)
  }

  /// The state of the files, the gaps and the speech, for display.
  private func contents(_ allGaps: Bool) -> [String] {
    let info = segment.info
    let gaps = GapSummary(info)
    // A path is not broken into lines: it is copied.
    var lines = Self.row("Delivered", isDelivered ? "yes" : "no") + ["File".padded(to: 11) + segment.path.printable]
    lines += Self.row("SHA-256", info.measured.sha256)
    lines += Self.row("State", segment.problem.map { "corrupt: \($0.message.printable)" } ?? "intact")
    for (index, line) in (gaps.lines + gaps.list(all: allGaps)).enumerated() {
      lines += Self.row(index == 0 ? "Missing" : "", line)
    }
    let spoken = Amounts.fixed(info.seconds(info.speech.reduce(0) { $0 + $1.samples }), 1)
    let stretches = "\(info.speech.count) stretch\(info.speech.count == 1 ? "" : "es")"
    lines += Self.row("Speech", info.speech.isEmpty ? "none" : "\(spoken) s in \(stretches)")
    if segment.hasTranscript { lines += ["Transcript".padded(to: 11) + segment.transcriptPath.printable] }
    if let result = SegmentCommandResult.read(segment) { lines += Self.row("Command", result.words) }
    return lines
  }

  /// Returns a field as lines that fit the 80 columns of a terminal.
  private static func row(_ name: String, _ text: String) -> [String] {
    text.lines(behind: name.padded(to: 11))
  }
}

extension SegmentInfo.Backfill {
  /// The fields in JSON.
  fileprivate var json: JSONValue {
    let gaps = fills.map { gap in
      JSONValue.object([
        "segment": .number(gap.segment), "start": JSONValue(gap.start), "duration": .number(gap.duration),
      ])
    }
    return .object(["clock": .string(clock.rawValue), "fills": .array(gaps)])
  }
}

extension SegmentInfo.Backfill.Clock {
  fileprivate var words: String {
    switch self {
    case .device: "time from its clock"
    case .estimated: "time estimated"
    }
  }
}

extension SegmentInfo.Backfill.Gap {
  fileprivate var words: String {
    let length = Amounts.clock(duration, digits: 1)
    return start == nil
      ? "fills the pause of \(length) before segment \(segment)"
      : "fills a gap of \(length) in segment \(segment)"
  }
}

extension FinishedSegment {
  /// The segment on one line: `segment 3, 2:41, 0.08 s missing`.
  var headline: String {
    let missing =
      info.missingSamples > 0 ? ", \(Amounts.fixed(info.seconds(info.missingSamples), 2)) s missing" : ""
    let stored = info.backfill == nil ? "" : ", stored by the device"
    return "segment \(info.id), \(Amounts.clock(info.duration))\(stored)\(missing)"
  }

  /// The error of the segment's file; `nil` if the file is intact.
  var problem: AudioIngestError? {
    do {
      try verify()
      return nil
    } catch {
      return error
    }
  }

  /// Whether another program has written a transcript.
  fileprivate var hasTranscript: Bool { FileManager.default.fileExists(atPath: transcriptPath) }

  /// All fields of the segment, in JSON.
  var json: [String: JSONValue] {
    [
      "transcript": hasTranscript ? .string(transcriptPath) : .null,
      "command": SegmentCommandResult.read(self)?.json ?? .null,
      "path": .string(path), "id": .number(info.id), "name": .string(info.name),
      "capturedAt": .string(info.capture.iso8601), "capturedAtMs": .number(Int(info.capture.unixMs)),
      "localDate": .string(info.capture.localDate), "timeZone": .string(info.capture.timeZone),
      "utcOffset": .number(info.capture.utcOffset),
      "device": .string(info.device.address), "deviceName": JSONValue(info.device.name),
      "codec": .string(info.codec.rawValue),
      "sampleRate": .number(info.sampleRate), "samples": .number(info.samples), "duration": .number(info.duration),
      "closedBy": .string(info.closedBy.rawValue), "missingSamples": .number(info.missingSamples),
      "gaps": .array(
        info.gaps.map {
          .object([
            "start": .number($0.start), "samples": .number($0.samples), "concealed": .number($0.concealed),
            "reason": .string($0.reason.rawValue),
          ])
        }),
      "speech": .array(
        info.speech.map { .object(["start": .number($0.start), "samples": .number($0.samples)]) }),
      "previous": info.previous.map {
        .object([
          "id": .number($0.id), "closedBy": .string($0.closedBy.rawValue), "pause": .number($0.pause),
        ])
      } ?? .null,
      "backfill": info.backfill?.json ?? .null,
      "peak": .number(info.measured.peak), "rms": .number(info.measured.rms), "sha256": .string(info.measured.sha256),
    ]
  }
}

extension SegmentInfo {
  /// Returns the duration of a number of samples, in seconds.
  func seconds(_ samples: Int) -> Double { Double(samples) / Double(sampleRate) }

  /// Returns the local time of day of a sample, in the time zone of the recording.
  func clock(at sample: Int, digits: Int = 0) -> String {
    Amounts.timeOfDay(Double(capture.unixMs) / 1000 + Double(capture.utcOffset) + seconds(sample), digits: digits)
  }
}

extension SegmentEnd {
  var words: String {
    switch self {
    case .silence: "silence"
    case .maximum: "length limit"
    case .linkLoss: "disconnect"
    case .codecChange: "codec change"
    case .shutdown: "shutdown"
    case .storeEnd: "end of store"
    case .noSpace: "full disk"
    case .diskFailed: "disk error"
    case .recovered: "crash"
    }
  }
}

extension AudioGap.Reason {
  var words: String {
    switch self {
    case .lost: "lost packets"
    case .damaged: "corrupt"
    case .unsent: "not sent"
    case .linkLoss: "not connected"
    case .noSpace: "no disk space"
    }
  }
}

extension AudioCodec {
  var words: String {
    switch self {
    case .pcm16k: "PCM, 16 kHz"
    case .pcm8k: "PCM, 8 kHz"
    case .muLaw16k: "µ-law, 16 kHz"
    case .muLaw8k: "µ-law, 8 kHz"
    case .opus10ms: "Opus, 10 ms frames"
    case .opus20ms: "Opus, 20 ms frames"
    }
  }
}
