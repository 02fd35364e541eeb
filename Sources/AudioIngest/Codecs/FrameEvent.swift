/// An element of a device's stream of frames: a frame, or a note that frames are missing.
///
/// A ``FrameReassembler`` makes them from notifications, and a ``StreamDecoder`` turns them into samples.
public enum FrameEvent: Sendable, Hashable {
  /// One complete frame of the codec.
  case frame(ArraySlice<UInt8>)
  /// The number of frames that are missing here.
  case lost(Int)
  /// The device restarted: the number of frames missing before the next one is unknown.
  case restarted
}
