internal import ErrorReporting
public import FoundationEssentials

/// An HTTP request to an S3 server, signed or to be signed.
///
/// ```swift
/// var request = S3Request("GET", authority: "s3.eu-central-1.amazonaws.com", path: "/recordings/ada/talk.wav")
/// request.headers.append(("Range", "bytes=0-43"))
/// print(request.url)  // https://s3.eu-central-1.amazonaws.com/recordings/ada/talk.wav
/// ```
public struct S3Request: Sendable {
  /// The body of a request: none, bytes or a part of a file.
  public enum Body: Sendable {
    /// A request without a body.
    case none
    /// A body of bytes in memory.
    case bytes(Data)
    /// A part of a file, read while it is sent.
    case file(FileSlice)

    /// The length of the body in bytes.
    public var length: Int64 {
      switch self {
      case .none: 0
      case .bytes(let data): Int64(data.count)
      case .file(let slice): slice.length
      }
    }
  }

  /// The HTTP method, such as `GET`.
  public var method: String
  /// The scheme of the URL: `http` or `https`.
  public var scheme: String
  /// The host, with the port unless it is the default of the scheme.
  public var authority: String
  /// The percent-encoded path of the URL.
  public var path: String
  /// The query of the URL, not yet encoded.
  public var query: [(name: String, value: String)]
  /// The headers, without `Host` and `Content-Length`.
  public var headers: [(name: String, value: String)]
  /// The body of the request; default: none.
  public var body: Body

  /// Creates a request without a body.
  public init(
    _ method: String, scheme: String = "https", authority: String, path: String = "/",
    query: [(name: String, value: String)] = [], headers: [(name: String, value: String)] = []
  ) {
    self.method = method
    self.scheme = scheme
    self.authority = authority
    self.path = path
    self.query = query
    self.headers = headers
    body = .none
  }

  /// The complete URL, with the encoded query.
  public var url: String {
    let query = encodedQuery.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    return "\(scheme)://\(authority)\(path)" + (query.isEmpty ? "" : "?\(query)")
  }

  /// The encoded query, in the order that is signed.
  var encodedQuery: [(name: String, value: String)] {
    query.map { (name: $0.name.percentEncoded(), value: $0.value.percentEncoded()) }
      .sorted { ($0.name, $0.value) < ($1.name, $1.value) }
  }
}

/// A part of a local file: a path, an offset and a length.
public struct FileSlice: Sendable, Hashable {
  /// The path of the file.
  public var path: String
  /// The offset of the first byte in the file.
  public var offset: Int64
  /// The length of the part in bytes.
  public var length: Int64

  /// Creates a reference to a part of a file without opening it.
  public init(path: String, offset: Int64 = 0, length: Int64) {
    self.path = path
    self.offset = offset
    self.length = length
  }
}

/// The response of a server, with any status.
public struct S3Response: Sendable {
  /// The HTTP status, such as 200.
  public var status: Int
  /// The headers, by lowercase name.
  public var headers: [String: String]
  /// The body; empty if ``S3Progress/received`` received it.
  public var body: Data

  /// Creates a response from its parts.
  public init(status: Int, headers: [String: String] = [:], body: Data = Data()) {
    self.status = status
    self.headers = headers
    self.body = body
  }
}

extension S3Response {
  /// The largest body in bytes in which secrets are looked for: errors are shorter, and only they are shown.
  private static let errorLimit = 64 << 10

  /// Returns the response without the secrets of the request, which a server may quote in an error.
  func without(_ credentials: S3Credentials) -> S3Response {
    guard !body.isEmpty, body.count <= Self.errorLimit || !(200..<300).contains(status) else { return self }
    let secrets = KnownSecrets([credentials.secretKey, credentials.sessionToken])
    var clean = self
    clean.body = Data(secrets.removed(from: [UInt8](body)))
    return clean
  }
}

/// The handlers that a transport calls while a request is in progress; they must not block.
public struct S3Progress: Sendable {
  /// A closure that receives the bytes of the request's body as they are passed to the connection, in order.
  public var sent: @Sendable (UnsafeRawBufferPointer) -> Void
  /// A closure that receives the body of a successful response, in order; `nil` to keep it in ``S3Response/body``.
  public var received: (@Sendable (UnsafeRawBufferPointer) -> Void)?
  /// The limit on the body that ``received`` gets, in bytes; the transport fails a longer one. `nil` for none.
  public var receivedLimit: Int64?

  /// Creates handlers; by default they ignore the bytes.
  public init(
    sent: @escaping @Sendable (UnsafeRawBufferPointer) -> Void = { _ in },
    received: (@Sendable (UnsafeRawBufferPointer) -> Void)? = nil, receivedLimit: Int64? = nil
  ) {
    self.sent = sent
    self.received = received
    self.receivedLimit = receivedLimit
  }
}

/// A transport that carries requests to servers over HTTP.
///
/// `S3HTTPTransport` of the library `UploadsHTTP` is one; this library contains no HTTP client. A transport for tests:
///
/// ```swift
/// struct NotFound: S3Transport {
///   func send(_ request: S3Request, _ progress: S3Progress) async throws -> S3Response {
///     S3Response(status: 404)
///   }
/// }
/// let client = S3Client(try S3Endpoint("http://127.0.0.1:8333"), transport: NotFound())
/// ```
public protocol S3Transport: Sendable {
  /// Sends a request and returns the complete response, without following redirects or repeating the request.
  /// - Throws: ``UploadsError`` with code `.unreachable`, `.untrusted`, `.certificateExpired`, `.wrongHostName`, `.notTLS` or
  ///   `.noTLS` if the server has certainly not received the request,
  ///   `.interrupted` if it may have; `.fileMissing`, `.fileChanged` or `.storage` for the file of the body;
  ///   `CancellationError`.
  func send(_ request: S3Request, _ progress: S3Progress) async throws -> S3Response
}
