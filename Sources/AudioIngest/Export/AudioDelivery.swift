/// The form in which the segments of a folder are delivered: the format of the audio files, and their sample rate.
///
/// ```swift
/// let delivery = AudioDelivery(.flac, sampleRate: 16_000)
/// print(delivery.format.mediaType)  // audio/flac
/// ```
public struct AudioDelivery: Sendable, Hashable {
  /// The sample rates that may be chosen, in Hz: 8000 to 48,000.
  public static let sampleRates = 8000...48_000

  /// The format of the audio files; default: WAV.
  public var format: AudioFileFormat
  /// The number of samples per second, one of ``sampleRates``; `nil`, the default, for that of each segment.
  public var sampleRate: Int?

  /// Creates the form of the segments themselves, or another one.
  public init(_ format: AudioFileFormat = .wav, sampleRate: Int? = nil) {
    self.format = format
    self.sampleRate = sampleRate
  }

  /// The record of it in a folder.
  var text: String { format.rawValue + (sampleRate.map { " \($0)" } ?? "") }

  /// Creates the form that a record names; `nil` if it names none.
  init?(text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard let format = words.first.flatMap({ AudioFileFormat(rawValue: String($0)) }), words.count <= 2 else {
      return nil
    }
    let rate = words.count == 2 ? Int(words[1]) : nil
    guard words.count == 1 || rate.map(Self.sampleRates.contains) == true else { return nil }
    self.init(format, sampleRate: rate)
  }
}
