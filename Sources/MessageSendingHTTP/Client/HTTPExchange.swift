internal import AsyncHTTPClient
internal import MessageSending
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import OutgoingHTTP
internal import Timing

/// The way to one URL: a connection of its own for each request, with the proxy, the resolver and the certificates of a
/// sender. Nothing is logged, redirected or repeated.
struct HTTPExchange: Sendable {
  let address: ServerAddress
  private let configuration: HTTPClient.Configuration
  private let resolver: SecureResolver?
  private let limit: Duration

  /// Creates a way without connecting.
  /// - Throws: `MessageSendingError` with code `.invalidArgument`.
  init(_ url: String, _ options: HTTPMessageTransport.Options) throws(MessageSendingError) {
    address = try ServerAddress(url)
    let proxy = try options.proxy.map { text throws(MessageSendingError) in try ServerAddress(proxy: text) }
    guard address.isSecure || address.isLoopback || address.isOnion && proxy != nil else {
      throw MessageSendingError(.invalidArgument, "the server's URL is \(url); required: https")
    }
    guard proxy == nil || options.resolver == nil else {
      throw MessageSendingError(.invalidArgument, "a proxy resolves names itself; required: a proxy or a resolver")
    }
    limit = options.limit
    var configuration = HTTPClient.Configuration()
    configuration.timeout = .init(connect: .seconds(30))
    configuration.redirectConfiguration = .disallow
    configuration.httpVersion = .http1Only
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.tlsConfiguration = try Self.tls(trusting: options.certificates)
    configuration.http1_1ConnectionDebugInitializer = { OneWriteHandler.add(to: $0) }
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

  /// Sends a request and returns the whole body of a response with a status of 200 to 299.
  /// - Parameter bodyLimit: The largest body of a response, in bytes.
  /// - Throws: `MessageSendingError` with code `.notSent`; `CancellationError`.
  func run(_ request: HTTPClientRequest, bodyLimit: Int) async throws -> ByteBuffer {
    var configuration = configuration
    if let resolver, !ServerAddress.isNumeric(address.host) {
      configuration.dnsOverride = [address.host: try await resolver.address(of: address.host)]
    }
    // A client of its own: nothing is shared between two requests, neither a connection nor a TLS session.
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    let body: ByteBuffer
    do {
      // The client's own deadline ends with the head of a response, and a server may stall in the body.
      let late = MessageSendingError(.notSent, "\(address.host) did not respond within \(limit)")
      body = try await TimeSource.continuous.withLimit(limit, orThrow: late) { [host = address.host] in
        let response = try await client.execute(request, deadline: .distantFuture)
        // Read to the end: a server that closes first would look different.
        let body = try await response.body.collect(upTo: bodyLimit)
        guard (200..<300).contains(response.status.code) else {
          throw MessageSendingError(.notSent, "\(host) responded with status \(response.status.code)")
        }
        return body
      }
    } catch {
      try await Self.close(client)
      try Task.checkCancellation()
      throw Self.failure(error, address.host)
    }
    try await Self.close(client)
    return body
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
      return MessageSendingError(.notSent, "exchange with \(host): \(error.shortDescription)")
    default: return MessageSendingError(.notSent, "exchange with \(host): failed")
    }
  }
}
