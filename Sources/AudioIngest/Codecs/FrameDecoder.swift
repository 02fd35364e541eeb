/// A decoder that turns the frames of one stream into samples, and synthesizes replacements for missing ones.
///
/// ```swift
/// let decoder = try AudioCodec.muLaw8k.makeDecoder()
/// var samples: [Int16] = []
/// try decoder.decode([0xff, 0x80, 0x00], into: &samples)
/// print(samples)  // [0, 32124, -32124]
/// ```
public protocol FrameDecoder: AnyObject {
  /// Appends the samples of a frame.
  /// - Throws: ``AudioIngestError`` with code `.damagedFrame`; nothing is appended then.
  func decode(_ frame: ArraySlice<UInt8>, into samples: inout [Int16]) throws(AudioIngestError)

  /// Appends exactly `count` samples that continue the last decoded ones and fade to silence.
  func conceal(_ count: Int, into samples: inout [Int16])

  /// Discards the decoder's history: the next frame does not continue the last one.
  func reset()
}
