import FoundationEssentials

/// A line of a segment's log, a JSON object: a crash costs at most the last line.
struct SegmentLog: Codable {
  var info: SegmentInfo?
  var gap: AudioGap?
  var speech: SegmentInfo.Speech?

  /// The largest size in bytes; one hour with a gap in every other frame takes 9 MB.
  static let limit = 32 << 20

  var line: [UInt8] { SegmentJSON.bytes(self) + [UInt8(ascii: "\n")] }

  /// Returns the description that the lines of a log make up; a truncated last line is ignored.
  /// - Returns: `nil` without a valid first line, which describes the segment.
  static func read(_ bytes: [UInt8]) -> SegmentInfo? {
    let decoder = JSONDecoder()
    let lines = bytes.split(separator: UInt8(ascii: "\n"))
    // A line that cannot be decoded is what a crash left.
    guard var info = lines.first.flatMap({ try? decoder.decode(Self.self, from: Data($0)) })?.info,
      info.version == 1, info.sampleRate == info.codec.sampleRate, info.id >= 0
    else { return nil }
    for line in lines.dropFirst() {
      guard let entry = try? decoder.decode(Self.self, from: Data(line)) else { continue }
      if let gap = entry.gap, gap.isSound { info.add(gap) }
      if let speech = entry.speech, speech.start >= 0, speech.samples >= 0 { info.speech.append(speech) }
    }
    return info
  }
}

extension AudioGap {
  /// A Boolean value that indicates whether the numbers, read from a file, describe a possible gap.
  fileprivate var isSound: Bool {
    let numbers = 0...WAVHeader.longestData
    // The samples of a late gap are written when the segment is finished.
    let isBounded = isLate != true || samples <= StreamRecorder.longestFill.samples(at: 16_000)
    return numbers ~= start && numbers ~= samples && 0...samples ~= concealed && isBounded
  }
}

/// The coding of sidecars and of the lines of logs.
enum SegmentJSON {
  /// The largest sidecar that is read, in bytes.
  static let limit = SegmentLog.limit

  static func bytes(_ value: some Encodable, pretty: Bool = false) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = pretty ? [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes] : .sortedKeys
    // Only a number that is not finite can fail, and there is none.
    return [UInt8]((try? encoder.encode(value)) ?? Data())
  }

  /// Returns the description in a sidecar; `nil` if that is malformed.
  static func info(_ bytes: [UInt8]) -> SegmentInfo? {
    try? JSONDecoder().decode(SegmentInfo.self, from: Data(bytes))
  }
}
