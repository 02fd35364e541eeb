/// An error of an upload, of the queue or of its credentials.
///
/// ```swift
/// func add(_ request: UploadRequest, to store: QueueStore) throws {
///   do {
///     try store.add([request])
///   } catch where error.code == .alreadyExists {
///     print("choose another key:", error.message)
///   } catch where error.code == .noSpace {
///     print("free some space, then retry")
///   }
/// }
/// ```
public struct UploadsError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of failure; later versions may add codes.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The name of the code, for display.
    public let description: String
    init(_ description: String) { self.description = description }

    /// An argument of the caller is out of its allowed range.
    public static let invalidArgument = Code("invalid argument")
    /// The server is unreachable and has certainly not received the request.
    public static let unreachable = Code("unreachable")
    /// The server's certificate is from an unknown authority; the server has certainly not received the request.
    public static let untrusted = Code("untrusted server")
    /// The server's certificate is out of date; the server has certainly not received the request.
    public static let certificateExpired = Code("certificate out of date")
    /// The server's certificate is for another host; the server has certainly not received the request.
    public static let wrongHostName = Code("certificate for another host")
    /// The server does not speak TLS, which its URL promises; it has certainly not received the request.
    public static let notTLS = Code("no TLS server")
    /// The server and this host agree on no TLS connection; the server has certainly not received the request.
    public static let noTLS = Code("TLS not agreed")
    /// The response is missing or truncated; the server may have received the request.
    public static let interrupted = Code("interrupted")
    /// The server is temporarily unable to serve the request: status 408, 429, 5xx, `SlowDown` and so on.
    public static let busy = Code("server is busy")
    /// The server's clock and this host's clock differ too much.
    public static let clockSkew = Code("clock skew")
    /// The provider has no credentials, or none that can be read.
    public static let noCredentials = Code("no credentials")
    /// The server refuses the credentials, because they are wrong or expired.
    public static let badCredentials = Code("credentials refused")
    /// The server accepts the credentials, which do not permit the request.
    public static let forbidden = Code("forbidden")
    /// The account or bucket has used up its quota on the server.
    public static let quotaExceeded = Code("quota of the server exceeded")
    /// The object or item exists and must not be replaced.
    public static let alreadyExists = Code("already exists")
    /// The server has no such object, bucket or multipart upload.
    public static let notFound = Code("not found")
    /// The server refuses the request; repeating it is useless.
    public static let refused = Code("refused")
    /// The server's object differs from the bytes that were sent.
    public static let corrupted = Code("corrupted in transit")
    /// The server's response is malformed or not one of S3.
    public static let unexpectedResponse = Code("unexpected response")
    /// The local file or a folder of its path does not exist.
    public static let fileMissing = Code("file missing")
    /// The local file has changed since it was queued.
    public static let fileChanged = Code("file changed")
    /// The queue's database or a local file cannot be read or written.
    public static let storage = Code("storage failed")
    /// The disk or a quota is full.
    public static let noSpace = Code("no space")
    /// The queue has no item with this ID.
    public static let noSuchItem = Code("no such item")
    /// The state of the item does not permit the change.
    public static let invalidState = Code("invalid state")
    /// Another process uploads the same queue.
    public static let alreadyRunning = Code("already running")
  }

  /// The kind of failure; later versions may add codes.
  public var code: Code
  /// The operation or input that failed, and the cause.
  public var message: String
  /// The HTTP status, if a server responded.
  public var status: Int?
  /// The error code of the server, such as `NoSuchBucket`.
  public var serverCode: String?
  /// The system's error number, if there is one.
  public var errno: Int32?
  /// The advice to the user, if there is any.
  public var hint: String?

  /// Creates an error with a code and a message.
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
