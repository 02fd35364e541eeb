import FoundationEssentials

/// The samples that a segment has taken over from the end of the one before: from a position there on they are in this one.
///
/// It is valid once as many samples are in the file: until then the segment before has all of them.
struct SegmentCarry: Codable, Hashable {
  /// The name of the segment before.
  var name: String
  /// The position from which on the samples were taken.
  var position: Int
  /// The number of samples.
  var samples: Int
}

/// A line of a segment's log, a JSON object: a crash costs at most the last line.
struct SegmentLog: Codable {
  var info: SegmentInfo?
  var gap: AudioGap?
  var speech: SegmentInfo.Speech?
  var carry: SegmentCarry?

  /// The largest size in bytes; one hour with a gap in every other frame takes 9 MB.
  static let limit = 32 << 20

  var line: [UInt8] { SegmentJSON.bytes(self) + [UInt8(ascii: "\n")] }

  /// Returns what a segment has taken over from the one before, by the first line of its log.
  static func carry(_ bytes: [UInt8]) -> SegmentCarry? {
    let line = bytes.prefix { $0 != UInt8(ascii: "\n") }
    // A line that cannot be decoded is what a crash left.
    guard let carry = (try? JSONDecoder().decode(Self.self, from: Data(line)))?.carry, carry.isSound else { return nil }
    return carry
  }

  /// Returns the description that the lines of a log make up; a truncated last line is ignored.
  /// - Returns: `nil` without a valid first line, which describes the segment.
  static func read(_ bytes: [UInt8]) -> SegmentInfo? {
    let decoder = JSONDecoder()
    let lines = bytes.split(separator: UInt8(ascii: "\n"))
    // A line that cannot be decoded is what a crash left.
    guard var info = lines.first.flatMap({ try? decoder.decode(Self.self, from: Data($0)) })?.info else { return nil }
    for line in lines.dropFirst() {
      guard let entry = try? decoder.decode(Self.self, from: Data(line)) else { continue }
      if let gap = entry.gap, gap.isSound { info.add(gap) }
      if let speech = entry.speech, speech.isSound { info.speech.append(speech) }
    }
    return info
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

  /// Returns the description in a sidecar; `nil` if that is malformed, or has a number that no recorder writes.
  static func info(_ bytes: [UInt8]) -> SegmentInfo? {
    try? JSONDecoder().decode(SegmentInfo.self, from: Data(bytes))
  }
}
