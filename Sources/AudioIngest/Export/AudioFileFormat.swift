/// A format of audio files: one channel of samples with 16 bits.
///
/// ```swift
/// print(AudioFileFormat.opus.mediaType)  // audio/ogg
/// ```
public enum AudioFileFormat: String, Sendable, Hashable, Codable, CaseIterable {
  /// Uncompressed PCM with a header of 44 bytes, at most 4 GiB.
  case wav
  /// FLAC, compressed without loss, by libFLAC.
  case flac
  /// Opus at about 24 kbit/s in an Ogg file, by libopusenc.
  case opus

  /// The media type of such a file.
  public var mediaType: String {
    switch self {
    case .wav: "audio/wav"
    case .flac: "audio/flac"
    case .opus: "audio/ogg"
    }
  }

  /// The end of the name of such a file, behind a dot.
  public var fileExtension: String { rawValue }
}
