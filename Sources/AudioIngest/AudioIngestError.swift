/// Why audio cannot be taken in or kept.
public struct AudioIngestError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What kind of failure it was; new codes may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The code in words.
    public let description: String
    init(_ description: String) { self.description = description }

    /// A caller's argument cannot be.
    public static let invalidArgument = Code("invalid argument")
    /// The device sends what nobody here can decode.
    public static let unknownCodec = Code("unknown codec")
    /// A frame does not hold what its codec says.
    public static let damagedFrame = Code("damaged frame")
    /// The codec's library refused.
    public static let codecFailed = Code("codec failed")
    /// A file could not be read or written.
    public static let storage = Code("storage failed")
    /// There is no room for more audio: the disk is full, or the recordings have reached their quota.
    public static let noSpace = Code("no space")
    /// A file does not hold what it should.
    public static let damagedFile = Code("damaged file")
    /// Another recorder has the folder.
    public static let busy = Code("folder in use")
    /// A wait ended without what it waited for; the message names the phase.
    public static let timedOut = Code("timed out")
    /// There is no such segment.
    public static let noSuchSegment = Code("no such segment")
  }

  /// The kind of failure.
  public var code: Code
  /// What happened.
  public var message: String
  /// The kernel's error number behind it, when there is one.
  public var errno: Int32?
  /// What a person can do about it.
  public var hint: String?

  /// Makes an error.
  public init(_ code: Code, _ message: String, errno: Int32? = nil, hint: String? = nil) {
    self.code = code
    self.message = message
    self.errno = errno
    self.hint = hint
  }

  /// The code, the message and the hint in one line.
  public var description: String { "\(code): \(message)" + (hint.map { " (\($0))" } ?? "") }
}
