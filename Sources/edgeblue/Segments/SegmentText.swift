import AudioIngest

extension SegmentCatalog {
  /// For people: a heading, a line for each segment, and what is wrong.
  var lines: [String] {
    var lines = entries.map(\.line)
    if lines.isEmpty {
      lines = ["There is no segment in \(path.printable)."]
    } else {
      lines.insert(Self.heading, at: 0)
    }
    if openCount > 0 {
      let them = openCount == 1 ? "1 segment is" : "\(openCount) segments are"
      lines.append("\(them) being written, or left by a crash: `edgeblue segments repair` finishes those.")
    }
    return lines + problems.map { "wrong: \($0.message.printable)" }
  }

  static let heading =
    "NUMBER  " + "RECORDED".padded(to: 21) + "LENGTH".padded(to: 10) + "FROM".padded(to: 20) + "MISSING".padded(to: 10)
    + "PEAK".padded(to: 10) + "ENDED BY".padded(to: 14) + "DELIVERED"
}

extension SegmentCatalog.Entry {
  fileprivate var line: String {
    let info = segment.info
    let number = "\(info.id)"
    return String(repeating: " ", count: max(6 - number.count, 0)) + number + "  "
      + "\(info.localDate) \(info.clock(at: 0))".padded(to: 21) + Amounts.clock(info.duration).padded(to: 10)
      + (info.deviceName?.printable ?? info.device.printable).cut(to: 19).padded(to: 20)
      + (info.missingSamples > 0 ? "\(Amounts.fixed(info.seconds(info.missingSamples), 2)) s" : "–").padded(to: 10)
      + Amounts.decibels(info.peak).padded(to: 10) + info.closedBy.words.padded(to: 14) + (isDelivered ? "yes" : "no")
  }

  /// All that is known, for people.
  var lines: [String] {
    let info = segment.info
    func row(_ name: String, _ text: String) -> String { name.padded(to: 11) + text }
    var lines = [
      row("Segment", "\(info.id), \(info.name)"),
      row(
        "Recorded",
        "\(info.localDate) \(info.clock(at: 0)) (\(info.timeZone.printable)), \(Amounts.clock(info.duration, digits: 3))"
      ),
      row("From", (info.deviceName.map { "\($0.printable), " } ?? "") + info.device.printable),
      row("Audio", "\(info.codec.words), as WAV of \(info.sampleRate) Hz, 16 bit, one channel"),
      row("Level", "\(Amounts.decibels(info.peak)) at its loudest, \(Amounts.decibels(info.rms)) on average (RMS)"),
      row("Ended by", info.closedBy.words),
    ]
    if let backfill = info.backfill {
      lines.append(row("Stored", "by the device while nobody listened, and fetched later; \(backfill.clock.words)"))
      for gap in backfill.fills { lines.append(row("", gap.words)) }
    }
    if let before = info.previous {
      let pause = Amounts.clock(before.pause, digits: 1)
      lines.append(
        row("Before it", "segment \(before.id), ended by \(before.closedBy.words); \(pause) lie between them"))
    }
    lines.append(row("Delivered", isDelivered ? "yes" : "no"))
    lines.append(row("File", segment.path.printable))
    lines.append(
      row("SHA-256", "\(info.sha256), " + (segment.problem.map { "but: \($0.message.printable)" } ?? "as it is")))
    let missing = Amounts.fixed(info.seconds(info.missingSamples), 3)
    lines.append(
      row(
        "Missing",
        info.gaps.isEmpty ? "nothing" : "\(missing) s in \(info.gaps.count) gap\(info.gaps.count == 1 ? "" : "s")"))
    for gap in info.gaps {
      let made = gap.concealed > 0 ? "; \(Amounts.fixed(info.seconds(gap.concealed), 3)) s of it made up" : ""
      lines.append(
        row(
          "",
          "\(Amounts.clock(info.seconds(gap.start), digits: 3))  \(Amounts.fixed(info.seconds(gap.samples), 3)) s  \(gap.reason.words)\(made)"
        ))
    }
    let spoken = info.speech.reduce(0) { $0 + $1.samples }
    lines.append(
      row(
        "Speech",
        info.speech.isEmpty
          ? "none"
          : "\(Amounts.fixed(info.seconds(spoken), 1)) s in \(info.speech.count) stretch\(info.speech.count == 1 ? "" : "es")"
      ))
    return lines
  }
}

extension SegmentInfo.Backfill {
  /// For programs.
  fileprivate var json: JSON {
    let gaps = fills.map { gap in
      JSON.object([
        "segment": .number(gap.segment), "start": JSON(gap.start), "duration": .decimal(gap.duration),
      ])
    }
    return .object(["clock": .string(clock.rawValue), "fills": .list(gaps)])
  }
}

extension SegmentInfo.Backfill.Clock {
  fileprivate var words: String {
    switch self {
    case .device: "its clock says when"
    case .estimated: "when is estimated"
    }
  }
}

extension SegmentInfo.Backfill.Gap {
  fileprivate var words: String {
    let length = Amounts.clock(duration, digits: 1)
    return start == nil
      ? "belongs into the pause of \(length) before segment \(segment)"
      : "belongs into a gap of \(length) in segment \(segment)"
  }
}

extension FinishedSegment {
  /// `segment 3 of 2:41, 0.08 s of it missing`
  var headline: String {
    let missing =
      info.missingSamples > 0 ? ", \(Amounts.fixed(info.seconds(info.missingSamples), 2)) s of it missing" : ""
    let stored = info.backfill == nil ? "" : ", stored by the device"
    return "segment \(info.id) of \(Amounts.clock(info.duration))\(stored)\(missing)"
  }

  /// What is wrong with its file; `nil` when it is as it was recorded.
  var problem: AudioIngestError? {
    do {
      try verify()
      return nil
    } catch {
      return error
    }
  }

  /// All that is known, for programs.
  var json: [String: JSON] {
    [
      "path": .string(path), "id": .number(info.id), "name": .string(info.name),
      "capturedAt": .string(info.capturedAt), "capturedAtMs": .number(Int(info.capturedAtMs)),
      "localDate": .string(info.localDate), "timeZone": .string(info.timeZone), "utcOffset": .number(info.utcOffset),
      "device": .string(info.device), "deviceName": JSON(info.deviceName), "codec": .string(info.codec.rawValue),
      "sampleRate": .number(info.sampleRate), "samples": .number(info.samples), "duration": .decimal(info.duration),
      "closedBy": .string(info.closedBy.rawValue), "missingSamples": .number(info.missingSamples),
      "gaps": .list(
        info.gaps.map {
          .object([
            "start": .number($0.start), "samples": .number($0.samples), "concealed": .number($0.concealed),
            "reason": .string($0.reason.rawValue),
          ])
        }),
      "speech": .list(
        info.speech.map { .object(["start": .number($0.start), "samples": .number($0.samples)]) }),
      "previous": info.previous.map {
        .object([
          "id": .number($0.id), "closedBy": .string($0.closedBy.rawValue), "pause": .decimal($0.pause),
        ])
      } ?? .null,
      "backfill": info.backfill?.json ?? .null,
      "peak": .decimal(info.peak), "rms": .decimal(info.rms), "sha256": .string(info.sha256),
    ]
  }
}

extension SegmentInfo {
  /// So many samples in seconds.
  func seconds(_ samples: Int) -> Double { Double(samples) / Double(sampleRate) }

  /// The time of day of a sample, where it was recorded.
  func clock(at sample: Int, digits: Int = 0) -> String {
    Amounts.timeOfDay(Double(capturedAtMs) / 1000 + Double(utcOffset) + seconds(sample), digits: digits)
  }
}

extension SegmentEnd {
  var words: String {
    switch self {
    case .silence: "silence"
    case .maximum: "its length"
    case .linkLoss: "a lost link"
    case .codecChange: "another codec"
    case .shutdown: "a shutdown"
    case .storeEnd: "end of store"
    case .noSpace: "a full disk"
    case .diskFailed: "a bad disk"
    case .recovered: "a crash"
    }
  }
}

extension AudioGap.Reason {
  var words: String {
    switch self {
    case .lost: "lost on the way"
    case .damaged: "damaged"
    case .unsent: "never sent"
    case .linkLoss: "no link"
    case .noSpace: "no space"
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
    case .opus10ms: "Opus, frames of 10 ms"
    case .opus20ms: "Opus, frames of 20 ms"
    }
  }
}
