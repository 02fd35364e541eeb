public import FoundationEssentials

/// A request as it goes to a server.
public struct S3Request: Sendable {
  /// What is sent behind the head.
  public enum Body: Sendable {
    /// Nothing.
    case none
    /// Bytes from memory.
    case bytes(Data)
    /// A part of a file, read while it is sent.
    case file(FileSlice)

    /// How many bytes it has.
    public var length: Int64 {
      switch self {
      case .none: 0
      case .bytes(let data): Int64(data.count)
      case .file(let slice): slice.length
      }
    }
  }

  /// HTTP's method.
  public var method: String
  /// `http` or `https`.
  public var scheme: String
  /// The host, and the port unless it is the scheme's own.
  public var authority: String
  /// Where, percent-encoded.
  public var path: String
  /// What follows the question mark, not encoded yet.
  public var query: [(name: String, value: String)]
  /// All but `Host` and `Content-Length`.
  public var headers: [(name: String, value: String)]
  /// What is sent.
  public var body: Body

  /// Makes a request.
  public init(
    _ method: String, scheme: String = "https", authority: String, path: String = "/",
    query: [(name: String, value: String)] = [], headers: [(name: String, value: String)] = [], body: Body = .none
  ) {
    self.method = method
    self.scheme = scheme
    self.authority = authority
    self.path = path
    self.query = query
    self.headers = headers
    self.body = body
  }

  /// The whole address.
  public var url: String {
    let query = encodedQuery.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    return "\(scheme)://\(authority)\(path)" + (query.isEmpty ? "" : "?\(query)")
  }

  /// The query in the order that is signed.
  var encodedQuery: [(name: String, value: String)] {
    query.map { (name: $0.name.percentEncoded(), value: $0.value.percentEncoded()) }
      .sorted { ($0.name, $0.value) < ($1.name, $1.value) }
  }
}

/// A part of a file.
public struct FileSlice: Sendable, Hashable {
  /// Where the file is.
  public var path: String
  /// Its first byte.
  public var offset: Int64
  /// How many bytes it has.
  public var length: Int64

  /// Names a part of a file.
  public init(path: String, offset: Int64 = 0, length: Int64) {
    self.path = path
    self.offset = offset
    self.length = length
  }
}

/// What a server answered, whatever it means.
public struct S3Answer: Sendable {
  /// HTTP's status.
  public var status: Int
  /// The headers, their names in small letters.
  public var headers: [String: String]
  /// The body; empty when it went to a listener.
  public var body: Data

  /// Makes an answer.
  public init(status: Int, headers: [String: String] = [:], body: Data = Data()) {
    self.status = status
    self.headers = headers
    self.body = body
  }
}

/// What hears of a request while it is under way. None of it may block.
public struct S3Progress: Sendable {
  /// Bytes of the body that are handed to the connection, in order.
  public var sent: @Sendable (UnsafeRawBufferPointer) -> Void
  /// Bytes of the body of a good answer, in order; without it they are kept in the answer.
  public var received: (@Sendable (UnsafeRawBufferPointer) -> Void)?

  /// Makes listeners.
  public init(
    sent: @escaping @Sendable (UnsafeRawBufferPointer) -> Void = { _ in },
    received: (@Sendable (UnsafeRawBufferPointer) -> Void)? = nil
  ) {
    self.sent = sent
    self.received = received
  }
}

/// Carries requests to servers. `UploadsHTTP` has one; the queue itself speaks no HTTP.
public protocol S3Transport: Sendable {
  /// Sends a request and waits for the whole answer. It follows no redirection and repeats nothing.
  /// - Throws: ``UploadsError``: `.unreachable` when the server has certainly not got it, `.interrupted` when it may
  ///   have, `.fileMissing`, `.fileChanged` and `.storage` for the file of the body; `CancellationError`.
  func send(_ request: S3Request, _ progress: S3Progress) async throws -> S3Answer
}
