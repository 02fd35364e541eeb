package import AudioIngest
internal import COpus

/// An encoder of Opus with the settings of the wearables' firmware: one channel, low delay, 32 kbit/s, variable rate, complexity 3.
package final class OpusEncoder {
  private let state: OpaquePointer
  private let frameSamples: Int

  package init(_ codec: AudioCodec) {
    var error: Int32 = 0
    state = opus_encoder_create(opus_int32(codec.sampleRate), 1, OPUS_APPLICATION_RESTRICTED_LOWDELAY, &error)
    precondition(error == OPUS_OK && edgeblue_opus_encoder_set(state, 32_000, 1, 3) == OPUS_OK)
    frameSamples = codec.frameSamples
  }

  deinit { opus_encoder_destroy(state) }

  /// Returns the frames of all complete frames of samples; the rest is not encoded.
  package func frames(_ samples: [Int16]) -> [[UInt8]] {
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
