public import ErrorReporting

/// Why audio cannot be taken in or kept.
public typealias AudioIngestError = CodedError<AudioIngestErrorDomain>

/// The domain of the codes of ``AudioIngestError``.
public enum AudioIngestErrorDomain {}

extension CodedError.Code where Domain == AudioIngestErrorDomain {
  /// A caller's argument cannot be.
  public static var invalidArgument: Self { Self("invalid argument", .invalidInput) }
  /// The device sends what nobody here can decode.
  public static var unknownCodec: Self { Self("unknown codec", .failed) }
  /// A frame does not hold what its codec says.
  public static var damagedFrame: Self { Self("damaged frame", .failed) }
  /// The codec's library refused.
  public static var codecFailed: Self { Self("codec failed", .failed) }
  /// A file could not be read or written.
  public static var storage: Self { Self("storage failed", .failed) }
  /// There is no room for more audio: the disk is full, or the recordings have reached their quota.
  public static var noSpace: Self { Self("no space", .unavailable) }
  /// A file does not hold what it should.
  public static var damagedFile: Self { Self("damaged file", .failed) }
  /// Another recorder has the folder.
  public static var busy: Self { Self("folder in use", .temporary) }
  /// A wait ended without what it waited for; the message names the phase.
  public static var timedOut: Self { Self("timed out", .temporary) }
  /// There is no such segment.
  public static var noSuchSegment: Self { Self("no such segment", .invalidInput) }
}
