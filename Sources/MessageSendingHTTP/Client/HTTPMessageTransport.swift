internal import AsyncHTTPClient
public import MessageSending
internal import NIOCore
internal import NIOHTTP1

/// A transport that posts each message to a server, over HTTPS and a connection of its own.
///
/// All requests have the same headers in the same order and a body of the same size, whatever the message. Nothing is
/// logged, redirects are not followed, and no request is repeated: the schedule decides about retries.
///
/// ```swift
/// import MessageSending
///
/// let transport = try HTTPMessageTransport("https://collector.example", options: .init(proxy: "socks5://127.0.0.1:9050"))
/// try await transport.send(try SealedMessage(bytes: [UInt8](repeating: 7, count: SealedMessage.byteCount)))
/// ```
public struct HTTPMessageTransport: MessageTransport {
  /// The settings of a transport.
  public struct Options: Sendable {
    /// The URL of a SOCKS proxy, such as `socks5://127.0.0.1:9050` for Tor, which also resolves the host's name; `nil`
    /// for none.
    public var proxy: String?
    /// The path of a PEM file with the only certificates to trust; `nil` for those of the system.
    public var certificates: String?
    /// The URL of a DNS-over-HTTPS resolver, such as `https://1.1.1.1/dns-query`; `nil` for the system's resolver.
    public var resolver: String?
    /// The timeout of a whole request: 50 s, which is enough for Tor.
    public var limit = Duration.seconds(50)

    /// Creates settings; by default a direct connection with the system's certificates and resolver.
    public init(proxy: String? = nil, certificates: String? = nil, resolver: String? = nil) {
      self.proxy = proxy
      self.certificates = certificates
      self.resolver = resolver
    }
  }

  /// The URL that messages are posted to.
  public let url: String
  private let exchange: HTTPExchange

  /// The path on the server.
  static let path = "/user/messages"
  /// The name of the program, the same for all versions.
  static let userAgent = "EdgeBlue"
  /// The largest response that is read: 64 KiB.
  static let responseLimit = 64 << 10

  /// Creates a transport without connecting.
  /// - Parameters:
  ///   - server: The URL of the server, without a query. Plain `http` is for this host and for onion services only.
  ///   - options: The other settings.
  /// - Throws: `MessageSendingError` with code `.invalidArgument`.
  public init(_ server: String, options: Options = Options()) throws(MessageSendingError) {
    exchange = try HTTPExchange(server, options)
    url = exchange.address.base + Self.path
  }

  /// Posts a message and returns when the server has accepted it with a status of 200 to 299.
  /// - Throws: `MessageSendingError` with code `.notSent`; `CancellationError`.
  public func send(_ message: SealedMessage) async throws {
    var request = HTTPClientRequest(url: url)
    request.method = .POST
    request.headers = [
      "Host": exchange.address.authority, "User-Agent": Self.userAgent, "Accept": "application/json",
      "Content-Type": "application/json", "Connection": "close",
    ]
    request.body = .bytes(ByteBuffer(bytes: MessageBody.encode(message)))
    _ = try await exchange.run(request, bodyLimit: Self.responseLimit)
  }
}
