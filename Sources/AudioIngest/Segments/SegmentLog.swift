import FoundationEssentials

/// What happens to a segment while it is written, one JSON object a line, so that a crash costs at most the last one.
struct SegmentLog: Codable {
  var info: SegmentInfo?
  var gap: AudioGap?
  var speech: SegmentInfo.Speech?

  /// One hour with a gap in every other frame takes 9 MB.
  static let limit = 32 << 20

  var line: [UInt8] { SegmentJSON.bytes(self) + [UInt8(ascii: "\n")] }

  /// Puts lines together; a last one that is not whole is what a crash left.
  /// - Returns: `nil` without a first line that says whose segment it is.
  static func read(_ bytes: [UInt8]) -> SegmentInfo? {
    let decoder = JSONDecoder()
    let lines = bytes.split(separator: UInt8(ascii: "\n"))
    guard var info = lines.first.flatMap({ try? decoder.decode(Self.self, from: Data($0)) })?.info,
      info.version == 1, info.sampleRate == info.codec.sampleRate, info.id >= 0
    else { return nil }
    for line in lines.dropFirst() {
      guard let entry = try? decoder.decode(Self.self, from: Data(line)) else { continue }
      if let gap = entry.gap, gap.isSound { info.note(gap) }
      if let speech = entry.speech, speech.start >= 0, speech.samples >= 0 { info.speech.append(speech) }
    }
    return info
  }
}

extension AudioGap {
  /// Whether its numbers, read from a file, are those of a gap that fits into one.
  fileprivate var isSound: Bool {
    let numbers = 0...WAVHeader.longestData
    // What is put in late is written when the segment is finished.
    let isBounded = isLate != true || samples <= StreamRecorder.longestFill.samples(at: 16_000)
    return numbers ~= start && numbers ~= samples && 0...samples ~= concealed && isBounded
  }
}

/// Sidecars and the lines of logs.
enum SegmentJSON {
  /// The largest sidecar that is read, in bytes.
  static let limit = SegmentLog.limit

  static func bytes(_ value: some Encodable, pretty: Bool = false) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = pretty ? [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes] : .sortedKeys
    // Numbers here are finite, and nothing else can fail.
    return [UInt8]((try? encoder.encode(value)) ?? Data())
  }

  static func info(_ bytes: [UInt8]) -> SegmentInfo? {
    try? JSONDecoder().decode(SegmentInfo.self, from: Data(bytes))
  }
}
