internal import DurableFiles

/// A writer of an audio file: samples go in, and the file is complete once ``finish()`` returns.
protocol AudioFileWriter: AnyObject {
  /// Appends samples of one channel.
  /// - Throws: ``AudioIngestError``: `.noSpace`, `.storage`, `.codecFailed`, or `.invalidArgument` for a file that would
  ///   become too long for its format.
  func append(_ samples: [Int16]) throws(AudioIngestError)

  /// Writes what is left, and the header.
  /// - Throws: ``AudioIngestError``: `.noSpace`, `.storage`, `.codecFailed`.
  func finish() throws(AudioIngestError)
}

extension AudioFileFormat {
  /// Creates a writer for an empty file.
  /// - Throws: ``AudioIngestError``: `.codecFailed` if the codec does not support the rate, `.noSpace`, `.storage`.
  func writer(for file: GrowingFile, sampleRate: Int) throws(AudioIngestError) -> any AudioFileWriter {
    switch self {
    case .wav: try WAVWriter(file, sampleRate: sampleRate)
    case .flac: try FLACWriter(file, sampleRate: sampleRate)
    case .opus: try OpusWriter(file, sampleRate: sampleRate)
    }
  }
}

/// A writer of WAV files.
final class WAVWriter: AudioFileWriter {
  private let file: GrowingFile
  private var header: WAVHeader

  init(_ file: GrowingFile, sampleRate: Int) throws(AudioIngestError) {
    self.file = file
    header = WAVHeader(sampleRate: sampleRate, dataBytes: 0)
    try storage(file.append(header.bytes))
  }

  func append(_ samples: [Int16]) throws(AudioIngestError) {
    header.dataBytes += samples.count * 2
    guard header.dataBytes <= WAVHeader.longestData else {
      throw AudioIngestError(.invalidArgument, "\(file.path) would become longer than a WAV file can be, 4 GiB")
    }
    try storage(file.append(samples))
  }

  func finish() throws(AudioIngestError) { try storage(file.overwrite(header.bytes)) }
}
