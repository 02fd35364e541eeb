internal import CFLAC
internal import DurableFiles

/// A writer of FLAC files, by libFLAC. The file contains the number of its samples and their MD5.
final class FLACWriter: AudioFileWriter {
  /// The setting that compresses most; it costs a thousandth of the audio's duration.
  private static let level: UInt32 = 8

  private let encoder: UnsafeMutablePointer<FLAC__StreamEncoder>
  /// What libFLAC writes to; it has a reference to this object for as long as the encoder exists.
  private let output: Output
  private var wide: [FLAC__int32] = []

  /// - Throws: ``AudioIngestError`` with code `.codecFailed` for a rate that FLAC does not have, `.noSpace`, `.storage`.
  init(_ file: GrowingFile, sampleRate: Int) throws(AudioIngestError) {
    guard let encoder = FLAC__stream_encoder_new() else {
      throw AudioIngestError(.codecFailed, "creating a FLAC encoder: no memory")
    }
    self.encoder = encoder
    output = Output(file)
    FLAC__stream_encoder_set_channels(encoder, 1)
    FLAC__stream_encoder_set_bits_per_sample(encoder, 16)
    FLAC__stream_encoder_set_sample_rate(encoder, UInt32(clamping: sampleRate))
    FLAC__stream_encoder_set_compression_level(encoder, Self.level)
    let status = FLAC__stream_encoder_init_stream(
      encoder,
      { _, bytes, count, _, _, output in
        guard let bytes, Output.of(output).write(UnsafeBufferPointer(start: bytes, count: count)) else {
          return FLAC__STREAM_ENCODER_WRITE_STATUS_FATAL_ERROR
        }
        return FLAC__STREAM_ENCODER_WRITE_STATUS_OK
      },
      { _, offset, output in
        Output.of(output).position = Int(offset)
        return FLAC__STREAM_ENCODER_SEEK_STATUS_OK
      },
      { _, offset, output in
        offset?.pointee = FLAC__uint64(Output.of(output).position)
        return FLAC__STREAM_ENCODER_TELL_STATUS_OK
      },
      nil, Unmanaged.passUnretained(output).toOpaque())
    guard status == FLAC__STREAM_ENCODER_INIT_STATUS_OK else {
      throw output.error ?? AudioIngestError(.codecFailed, "creating a FLAC encoder for \(sampleRate) Hz")
    }
  }

  // An encoder that was not finished finishes now: the output still exists.
  deinit { FLAC__stream_encoder_delete(encoder) }

  func append(_ samples: [Int16]) throws(AudioIngestError) {
    wide.removeAll(keepingCapacity: true)
    wide.append(contentsOf: samples.lazy.map { FLAC__int32($0) })
    try check(FLAC__stream_encoder_process_interleaved(encoder, wide, UInt32(wide.count)))
  }

  func finish() throws(AudioIngestError) {
    try check(FLAC__stream_encoder_finish(encoder))
    try storage(output.file.overwrite(output.head))
  }

  private func check(_ succeeded: FLAC__bool) throws(AudioIngestError) {
    if let error = output.error { throw error }
    guard succeeded != 0 else { throw AudioIngestError(.codecFailed, "compressing \(output.file.path) with FLAC") }
  }

  /// The file, whose head libFLAC writes once more at the end: it is kept until then.
  private final class Output: EncoderOutput {
    /// The length of the head: the mark of FLAC, and the block with the number and the MD5 of the samples.
    private static let headLength = 42

    private(set) var head: [UInt8] = []
    var position = 0

    /// Writes bytes at the position: at the end of the file, or within its head.
    func write(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
      defer { position += bytes.count }
      if position < file.length {
        guard position + bytes.count <= head.count else { return false }
        head.replaceSubrange(position..<position + bytes.count, with: bytes)
        return true
      }
      head += bytes.prefix(max(Self.headLength - position, 0))
      return append(bytes)
    }
  }
}
