import COpus

@testable import AudioIngest

/// Opus as the wearables' firmware makes it: one channel, low delay, 32 kbit/s, variable rate, complexity 3.
final class OpusEncoder {
  private let state: OpaquePointer
  private let frameSamples: Int

  init(_ codec: AudioCodec) {
    var error: Int32 = 0
    state = opus_encoder_create(opus_int32(codec.sampleRate), 1, OPUS_APPLICATION_RESTRICTED_LOWDELAY, &error)
    precondition(error == OPUS_OK && edgeblue_opus_encoder_set(state, 32_000, 1, 3) == OPUS_OK)
    frameSamples = codec.frameSamples
  }

  deinit { opus_encoder_destroy(state) }

  /// The frames of whole frames of samples; what is left over is not encoded.
  func frames(_ samples: [Int16]) -> [[UInt8]] {
    stride(from: 0, through: samples.count - frameSamples, by: frameSamples).map { start in
      [UInt8](unsafeUninitializedCapacity: 1500) { buffer, count in
        count = samples.withUnsafeBufferPointer { samples in
          Int(
            opus_encode(
              state, samples.baseAddress! + start, Int32(frameSamples), buffer.baseAddress!, opus_int32(buffer.count)))
        }
        precondition(count > 0)
      }
    }
  }
}
