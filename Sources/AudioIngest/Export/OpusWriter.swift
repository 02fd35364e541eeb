internal import COpusEnc
internal import DurableFiles

/// A writer of Opus in Ogg files, by libopusenc. The length is exact: the header says what a decoder has to skip.
///
/// The same samples make the same bytes, also in another process.
final class OpusWriter: AudioFileWriter {
  /// The usual number of bits a second, with which speech is transparent.
  private static let bitRate: Int32 = 24_000
  /// The number of the only stream in the file.
  private static let serialNumber: Int32 = 1

  private let encoder: OpaquePointer
  /// What libopusenc writes to; it has a reference to this object for as long as the encoder exists.
  private let output: EncoderOutput

  /// - Throws: ``AudioIngestError``: `.codecFailed` for a rate that the library does not have, `.noSpace`, `.storage`.
  init(_ file: GrowingFile, sampleRate: Int) throws(AudioIngestError) {
    output = EncoderOutput(file)
    guard let comments = ope_comments_create() else {
      throw AudioIngestError(.codecFailed, "creating an Opus encoder: no memory")
    }
    defer { ope_comments_destroy(comments) }
    var callbacks = OpusEncCallbacks(
      write: { output, bytes, count in
        EncoderOutput.of(output).append(UnsafeBufferPointer(start: bytes, count: Int(count))) ? 0 : 1
      },
      close: { _ in 0 })
    var error: Int32 = 0
    let made = ope_encoder_create_callbacks(
      &callbacks, Unmanaged.passUnretained(output).toOpaque(), comments, opus_int32(clamping: sampleRate), 1, 0, &error)
    guard let made else { throw Self.error("creating an Opus encoder for \(sampleRate) Hz", error) }
    encoder = made
    let result = edgeblue_opusenc_set(encoder, Self.bitRate, Self.serialNumber)
    guard result == OPE_OK else { throw Self.error("choosing the settings of Opus", result) }
  }

  deinit { ope_encoder_destroy(encoder) }

  func append(_ samples: [Int16]) throws(AudioIngestError) {
    try check(ope_encoder_write(encoder, samples, Int32(samples.count)))
  }

  func finish() throws(AudioIngestError) { try check(ope_encoder_drain(encoder)) }

  private func check(_ result: Int32) throws(AudioIngestError) {
    if let error = output.error { throw error }
    guard result == OPE_OK else { throw Self.error("compressing \(output.file.path) with Opus", result) }
  }

  private static func error(_ operation: String, _ code: Int32) -> AudioIngestError {
    AudioIngestError(.codecFailed, "\(operation): \(String(cString: ope_strerror(code)))")
  }
}
