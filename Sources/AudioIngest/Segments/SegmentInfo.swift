/// What is known of a segment: its sidecar, as JSON beside the WAV file.
public struct SegmentInfo: Sendable, Hashable, Codable {
  /// A stretch in which somebody speaks, in samples from the beginning of the segment.
  public struct Speech: Sendable, Hashable, Codable {
    /// Its first sample.
    public var start: Int
    /// How many it has.
    public var samples: Int
  }

  /// What came before a segment in the same recording.
  public struct Previous: Sendable, Hashable, Codable {
    /// Its number.
    public var id: Int
    /// Why it ended.
    public var closedBy: SegmentEnd
    /// How long nothing was kept between the two, in seconds.
    public var pause: Double
  }

  /// What a segment that a device had stored, while nobody listened, has to do with those that were heard.
  public struct Backfill: Sendable, Hashable, Codable {
    /// How it is known when it was captured.
    public enum Clock: String, Sendable, Hashable, Codable {
      /// The device's clock, which was set at the last link: right to about a second.
      case device
      /// The device says nothing: by how much it had stored when somebody listened again.
      case estimated
    }

    /// What was missing where it belongs.
    public struct Gap: Sendable, Hashable, Codable {
      /// The number of the segment with the gap in it or, without `start`, with the pause before it.
      public var segment: Int
      /// The first sample of the gap.
      public var start: Int?
      /// How long the gap or the pause is, in seconds.
      public var duration: Double
    }

    /// How it is known when it was captured.
    public var clock: Clock
    /// What it fills of the segments of the same device, as far as they were there when it came.
    public var fills: [Gap]
  }

  /// The version of this format: 1.
  public var version = 1
  /// Its number: each segment of a folder has a higher one than those before it.
  public var id: Int
  /// When its first sample was captured, in Unix milliseconds.
  public var capturedAtMs: Int64
  /// The same, in UTC as ISO 8601 writes it.
  public var capturedAt: String
  /// The day of the first sample, where it was captured: `yyyy-MM-dd`.
  public var localDate: String
  /// The time zone there, as IANA names it.
  public var timeZone: String
  /// How far east of UTC it was then, in seconds.
  public var utcOffset: Int
  /// The address of the device.
  public var device: String
  /// What the device calls itself.
  public var deviceName: String?
  /// What the device encoded it with.
  public var codec: AudioCodec
  /// Samples a second in the WAV file.
  public var sampleRate: Int
  /// The segment before, unless this is the first since the recorder was started.
  public var previous: Previous?
  /// Only when it was not heard live, but stored by the device and fetched later.
  public var backfill: Backfill?

  /// How many samples the WAV file has.
  public var samples = 0
  /// How long they last, in seconds.
  public var duration = 0.0
  /// Why it ended.
  public var closedBy = SegmentEnd.recovered
  /// What nobody heard, in order.
  public var gaps: [AudioGap] = []
  /// How many samples are in the gaps.
  public var missingSamples = 0
  /// Where somebody speaks, in order.
  public var speech: [Speech] = []
  /// The loudest sample, in dB of full scale.
  public var peak = -120.0
  /// The root of the mean square, in dB of full scale.
  public var rms = -120.0
  /// The SHA-256 of the WAV file, in hexadecimal.
  public var sha256 = ""

  /// The name of its files, without what is behind the dot.
  public var name: String { Self.name(id, capturedAtMs) }

  static func name(_ id: Int, _ capturedAtMs: Int64) -> String {
    "\(CaptureTime.compact(capturedAtMs))-\(CaptureTime.digits(id, 6))"
  }
}

extension SegmentInfo {
  /// A segment that begins now.
  init(id: Int, capturedAtMs: Int64, device: AudioDevice, codec: AudioCodec, previous: Previous?) {
    let time = CaptureTime(capturedAtMs)
    self.id = id
    self.capturedAtMs = capturedAtMs
    capturedAt = time.iso8601
    localDate = time.localDate
    timeZone = time.zone
    utcOffset = time.utcOffset
    self.device = device.address
    deviceName = device.name
    self.codec = codec
    sampleRate = codec.sampleRate
    self.previous = previous
  }

  /// Notes a gap. One that was noticed late moves what lies behind it.
  mutating func note(_ gap: AudioGap) {
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

  /// Cuts what was noted while the file was written to the samples that are in it.
  mutating func fit(to samples: Int) {
    self.samples = samples
    duration = Double(samples) / Double(sampleRate)
    // What is clipped is no longer late: it is in the file.
    gaps = gaps.compactMap { $0.clipped(to: 0..<samples) }
    missingSamples = gaps.reduce(0) { $0 + $1.samples }
    speech = speech.compactMap { stretch in
      let part = (stretch.start..<(stretch.start + max(stretch.samples, 0))).clamped(to: 0..<samples)
      return part.isEmpty ? nil : Speech(start: part.lowerBound, samples: part.count)
    }
  }
}

/// Who sends audio.
public struct AudioDevice: Sendable, Hashable {
  /// Its Bluetooth address.
  public var address: String
  /// What it calls itself.
  public var name: String?

  /// Names a device.
  public init(address: String, name: String? = nil) {
    self.address = address
    self.name = name
  }
}

/// A segment that is whole: its WAV file and its sidecar are on disk.
public struct FinishedSegment: Sendable, Hashable {
  /// What its sidecar says.
  public var info: SegmentInfo
  /// Where its WAV file is.
  public var path: String
}

/// Where finished segments go.
public protocol SegmentSink: Sendable {
  /// Takes a segment over, which stays where it is until the folder's owner is told that it was delivered. Until then it
  /// is offered again each time that a recorder begins: who has it already knows it by its number.
  /// - Throws: when it could not.
  func take(_ segment: FinishedSegment) async throws
}
