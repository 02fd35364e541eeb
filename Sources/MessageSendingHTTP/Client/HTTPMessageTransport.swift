internal import AsyncHTTPClient
internal import FoundationEssentials
public import MessageSending
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import OutgoingHTTP

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
  private let host: String
  private let authority: String
  private let configuration: HTTPClient.Configuration
  private let resolver: SecureResolver?
  private let limit: Duration

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
    let address = try ServerAddress(server)
    let proxy = try options.proxy.map { text throws(MessageSendingError) in try ServerAddress(proxy: text) }
    guard address.isSecure || address.isLoopback || address.isOnion && proxy != nil else {
      throw MessageSendingError(.invalidArgument, "the server's URL is \(server); required: https")
    }
    guard proxy == nil || options.resolver == nil else {
      throw MessageSendingError(.invalidArgument, "a proxy resolves names itself; required: a proxy or a resolver")
    }
    url = address.base + Self.path
    host = address.host
    authority = address.authority
    limit = options.limit
    var configuration = HTTPClient.Configuration()
    configuration.timeout = .init(connect: .seconds(30))
    configuration.redirectConfiguration = .disallow
    configuration.httpVersion = .http1Only
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.tlsConfiguration = try Self.tls(trusting: options.certificates)
    if let proxy { configuration.proxy = .socksServer(host: proxy.host, port: proxy.port ?? 1080) }
    self.configuration = configuration
    resolver = try options.resolver.map { url throws(MessageSendingError) in try SecureResolver(url) }
  }

  private static func tls(trusting certificates: String?) throws(MessageSendingError) -> TLSConfiguration {
    var tls = TLSRules.client()
    guard let certificates else { return tls }
    do {
      tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(certificates))
      return tls
    } catch {
      throw MessageSendingError(
        .invalidArgument, "\(certificates) does not contain readable certificates")
    }
  }

  /// Posts a message and returns when the server has accepted it with a status of 200 to 299.
  /// - Throws: `MessageSendingError` with code `.notSent`; `CancellationError`.
  public func send(_ message: SealedMessage) async throws {
    var configuration = configuration
    if let resolver, !ServerAddress.isNumeric(host) {
      configuration.dnsOverride = [host: try await resolver.address(of: host)]
    }
    // A client of its own: nothing is shared between two messages, neither a connection nor a TLS session.
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    do {
      try await post(message, by: client)
    } catch {
      try await Self.close(client)
      try Task.checkCancellation()
      throw Self.failure(error, host)
    }
    try await Self.close(client)
  }

  private func post(_ message: SealedMessage, by client: HTTPClient) async throws {
    var request = HTTPClientRequest(url: url)
    request.method = .POST
    request.headers = [
      "Host": authority, "User-Agent": Self.userAgent, "Accept": "application/json", "Content-Type": "application/json",
      "Connection": "close",
    ]
    request.body = .bytes(ByteBuffer(bytes: MessageBody.encode(message)))
    let response = try await client.execute(request, deadline: .now() + .nanoseconds(limit.nanoseconds))
    // Read to the end: a server that closes first would look different.
    _ = try await response.body.collect(upTo: Self.responseLimit)
    guard (200..<300).contains(response.status.code) else {
      throw MessageSendingError(.notSent, "\(host) responded with status \(response.status.code)")
    }
  }

  /// Closes the client's connection, also when the task is cancelled.
  private static func close(_ client: HTTPClient) async throws {
    try await Task { try await client.shutdown() }.value
  }

  private static func failure(_ error: any Error, _ host: String) -> MessageSendingError {
    switch error {
    case let error as MessageSendingError: return error
    case let error as NIOSSLError:
      return MessageSendingError(.notSent, "connect to \(host): the certificate is not trusted: \(error)")
    case let error as BoringSSLError:
      return MessageSendingError(.notSent, "connect to \(host): the certificate is not trusted: \(error)")
    case is NIOConnectionError, is IOError:
      return MessageSendingError(.notSent, "connect to \(host): no server responds")
    case let error as HTTPClientError:
      return MessageSendingError(.notSent, "post to \(host): \(error.shortDescription)")
    default: return MessageSendingError(.notSent, "post to \(host): failed")
    }
  }
}

extension Duration {
  fileprivate var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? .max / 4 : min(product, .max / 4) + attoseconds / 1_000_000_000
  }
}
