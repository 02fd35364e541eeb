/// Turns the frames of one stream into samples, and stands in for those that are missing.
public protocol FrameDecoder: AnyObject {
  /// Appends the samples of a frame.
  /// - Throws: ``AudioIngestError`` with code `.damagedFrame`; nothing is appended then.
  func decode(_ frame: ArraySlice<UInt8>, into samples: inout [Int16]) throws(AudioIngestError)

  /// Appends exactly `count` samples that go on from what was heard last, fading away.
  func conceal(_ count: Int, into samples: inout [Int16])

  /// Forgets what was heard: what comes next does not follow it.
  func reset()
}
