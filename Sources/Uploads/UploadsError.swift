/// Why something was not uploaded, or not queued.
public struct UploadsError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What kind of failure it was; new codes may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The code in words.
    public let description: String
    init(_ description: String) { self.description = description }

    /// A caller's argument cannot be.
    public static let invalidArgument = Code("invalid argument")
    /// The server cannot be reached: it has certainly not got the request.
    public static let unreachable = Code("unreachable")
    /// The answer is missing or cut off: the server may have got the request.
    public static let interrupted = Code("interrupted")
    /// The server cannot at the moment: 408, 429, 5xx, `SlowDown` and the like.
    public static let busy = Code("server is busy")
    /// The server's clock and this machine's are too far apart.
    public static let clockSkew = Code("clock skew")
    /// There are no credentials.
    public static let noCredentials = Code("no credentials")
    /// The server does not take these credentials, or no longer.
    public static let badCredentials = Code("credentials refused")
    /// The credentials are good and do not allow this.
    public static let forbidden = Code("forbidden")
    /// The object is there already, and must not be replaced.
    public static let alreadyExists = Code("already there")
    /// There is no such object, bucket or multipart upload.
    public static let notFound = Code("not found")
    /// The server refuses the request, and will refuse it again.
    public static let refused = Code("refused")
    /// What the server has is not what was sent.
    public static let corrupted = Code("corrupted on the way")
    /// The server's answer cannot be understood.
    public static let unexpectedReply = Code("unexpected reply")
    /// The local file is not there.
    public static let fileMissing = Code("file missing")
    /// The local file is not what it was when it was queued.
    public static let fileChanged = Code("file changed")
    /// A local file or the queue's database could not be read or written.
    public static let storage = Code("storage failed")
    /// The disk is full.
    public static let noSpace = Code("no space")
    /// The queue has no such item.
    public static let noSuchItem = Code("no such item")
    /// The item's state does not allow it.
    public static let notNow = Code("not now")
    /// Another program runs this queue.
    public static let alreadyRunning = Code("already running")
  }

  /// The kind of failure.
  public var code: Code
  /// What happened.
  public var message: String
  /// HTTP's status, when a server answered.
  public var status: Int?
  /// What the server calls it, such as `NoSuchBucket`.
  public var serverCode: String?
  /// The kernel's error number behind it, when there is one.
  public var errno: Int32?
  /// What a person can do about it.
  public var hint: String?

  /// Makes an error.
  public init(
    _ code: Code, _ message: String, status: Int? = nil, serverCode: String? = nil, errno: Int32? = nil,
    hint: String? = nil
  ) {
    self.code = code
    self.message = message
    self.status = status
    self.serverCode = serverCode
    self.errno = errno
    self.hint = hint
  }

  /// The code, the message and the hint in one line.
  public var description: String { "\(code): \(message)" + (hint.map { " (\($0))" } ?? "") }
}
