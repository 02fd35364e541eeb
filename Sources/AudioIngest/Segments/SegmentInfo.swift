/// The description of a segment: the contents of its sidecar, a JSON file beside the WAV file.
///
/// The JSON object is flat: the values of ``capture-swift.property``, ``device`` and ``measured`` lie beside the others.
///
/// ```swift
/// for entry in try SegmentCatalog(path: "recordings").entries {
///   let info = entry.segment.info
///   print(info.id, info.capture.iso8601, info.duration, "s,", info.missingSamples, "samples missing")
/// }
/// ```
public struct SegmentInfo: Sendable, Hashable {
  /// A range of samples with speech, from the start of the segment.
  public struct Speech: Sendable, Hashable, Codable {
    /// The position of the first sample.
    public var start: Int
    /// The number of samples in the range.
    public var samples: Int
  }

  /// The segment before another one in the same recording.
  public struct Previous: Sendable, Hashable, Codable {
    /// The number of the earlier segment.
    public var id: Int
    /// The reason why the earlier segment ended.
    public var closedBy: SegmentEnd
    /// The time between the two of which nothing was kept, in seconds.
    public var pause: Double
  }

  /// The time and place at which the first sample was captured.
  public struct Capture: Sendable, Hashable {
    /// The wall-clock time, in Unix milliseconds.
    public var unixMs: Int64
    /// The same time in UTC, in the format of ISO 8601.
    public var iso8601: String
    /// The local date of the first sample, as `yyyy-MM-dd`.
    public var localDate: String
    /// The identifier of the local time zone in the IANA database.
    public var timeZone: String
    /// The local offset from UTC in seconds, positive east of Greenwich.
    public var utcOffset: Int
  }

  /// The values measured from the finished WAV file.
  public struct Measurement: Sendable, Hashable {
    /// The loudest sample, in dBFS: −120…0.
    public var peak = -120.0
    /// The root mean square of all samples, in dBFS: −120…0.
    public var rms = -120.0
    /// The SHA-256 of the WAV file, in hexadecimal; empty until the segment is finished.
    public var sha256 = ""
  }

  /// The version of the sidecar's format: 1.
  public var version = 1
  /// The segment's number: higher than that of every earlier segment in the folder.
  public var id: Int
  /// The time and place at which the first sample was captured.
  public var capture: Capture
  /// The device that sent the audio.
  public var device: AudioDevice
  /// The codec that the device used.
  public var codec: AudioCodec
  /// The number of samples per second in the WAV file.
  public var sampleRate: Int
  /// The segment before; `nil` for the first one since the recorder started.
  public var previous: Previous?
  /// The relation to other segments, if the device had stored this one; `nil` if it was received live.
  public var backfill: Backfill?

  /// The number of samples in the WAV file.
  public var samples = 0
  /// The duration of the samples, in seconds.
  public var duration = 0.0
  /// The reason why the segment ended.
  public var closedBy = SegmentEnd.recovered
  /// The ranges of missing audio, in order.
  public var gaps: [AudioGap] = []
  /// The number of samples in all gaps.
  public var missingSamples = 0
  /// The ranges with speech, in order.
  public var speech: [Speech] = []
  /// The values measured from the finished WAV file.
  public var measured = Measurement()

  /// The name of the segment's files without their extension.
  public var name: String { Self.name(id, capture.unixMs) }

  static func name(_ id: Int, _ capturedAtMs: Int64) -> String {
    "\(CaptureTime.compact(capturedAtMs))-\(CaptureTime.digits(id, 6))"
  }
}

extension SegmentInfo {
  /// Creates the description of a segment that starts.
  package init(id: Int, capturedAtMs: Int64, device: AudioDevice, codec: AudioCodec, previous: Previous?) {
    let time = CaptureTime(capturedAtMs)
    self.id = id
    capture = Capture(
      unixMs: capturedAtMs, iso8601: time.iso8601, localDate: time.localDate, timeZone: time.zone,
      utcOffset: time.utcOffset)
    self.device = device
    self.codec = codec
    sampleRate = codec.sampleRate
    self.previous = previous
  }

  /// The end of the last sample, in Unix milliseconds.
  var endMs: Int64 { unixMs(of: samples) }

  /// Returns the time of a sample, in Unix milliseconds, rounded up: nothing of the segment is behind its end.
  func unixMs(of position: Int) -> Int64 {
    let rate = Int64(max(sampleRate, 1))
    return capture.unixMs + (Int64(position) * 1000 + rate - 1) / rate
  }

  /// Limits gaps and speech to those before a position, from which on the samples belong to another segment.
  mutating func end(at position: Int) {
    gaps = gaps.compactMap { $0.end <= position ? $0 : $0.clipped(to: 0..<position) }
    speech = speech.compactMap { $0.clipped(to: 0..<position) }
  }

  /// Adds a gap. A gap found late moves everything behind it.
  mutating func add(_ gap: AudioGap) {
    guard gap.isLate == true else { return gaps.append(gap) }
    for index in gaps.indices where gaps[index].start >= gap.start { gaps[index].start += gap.samples }
    for index in speech.indices {
      if speech[index].start >= gap.start {
        speech[index].start += gap.samples
      } else if speech[index].start + speech[index].samples > gap.start {
        speech[index].samples += gap.samples
      }
    }
    gaps.insert(gap, at: gaps.firstIndex { $0.start > gap.start } ?? gaps.endIndex)
  }

  /// Limits gaps and speech to the samples that the file really has.
  mutating func fit(to samples: Int) {
    self.samples = samples
    duration = Double(samples) / Double(sampleRate)
    // A clipped gap is no longer late: its samples are in the file.
    gaps = gaps.compactMap { $0.clipped(to: 0..<samples) }
    missingSamples = gaps.reduce(0) { $0 + $1.samples }
    speech = speech.compactMap { $0.clipped(to: 0..<samples) }
  }
}

extension SegmentInfo.Speech {
  /// Returns the part of the speech within a range, relative to the start of the range; `nil` if they do not overlap.
  func clipped(to range: Range<Int>) -> Self? {
    let part = (start..<(start + max(samples, 0))).clamped(to: range)
    return part.isEmpty ? nil : Self(start: part.lowerBound - range.lowerBound, samples: part.count)
  }
}
