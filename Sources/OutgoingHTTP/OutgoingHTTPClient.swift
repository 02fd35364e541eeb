public import AsyncHTTPClient
internal import FoundationEssentials
internal import Glibc
public import NIOCore
internal import NIOHTTP1
internal import NIOSSL

/// An HTTP/1.1 client that follows no redirect, repeats no request, accepts no TLS below 1.2, and shuts down with its last
/// reference.
///
/// A redirect could send a token or a signature to another host, and a repeated request could be performed twice: both
/// are for the caller to decide.
///
/// ```swift
/// let outgoing = OutgoingHTTPClient(connectTimeout: .seconds(5))
/// do {
///   let request = HTTPClientRequest(url: "https://coordinator.example/status")
///   print(try await outgoing.execute(request, timeout: .seconds(20)).status)
/// } catch {
///   if case .noServer = ConnectionFailure(error) { print("no server responds") }
/// }
/// ```
public final class OutgoingHTTPClient: Sendable {
  /// A PEM file that cannot be read, or contains no certificates.
  public struct UnreadableCertificates: Error, CustomStringConvertible {
    /// The path of the file.
    public let path: String
    /// The reason of the failure, for display.
    public let description: String
  }

  /// The number and the lifetime of the connections to a host.
  public struct Connections: Sendable, Hashable {
    /// The number of connections to one host that are kept for later requests. Default: 8.
    public var keptPerHost = 8
    /// The time after which an unused connection is closed. Default: 4 s, shorter than the 5 s of Node.js, so that a
    /// request does not meet the end of its connection.
    public var idleTimeout: Duration = .seconds(4)
    /// The number of requests over one connection; `nil`, the default, for no limit.
    public var requestsPerConnection: Int?
    /// The time after which a connection ends whose peer acknowledges nothing; `nil`, the default, for the kernel's own
    /// of about 15 min.
    ///
    /// With it the kernel takes hardly more of a body than what is on its way, so that the pieces which a body hands over
    /// show the progress on a slow line.
    public var acknowledgementLimit: Duration?
    /// The proxies to the hosts; by default those that the environment names.
    public var proxies = ProxySettings.environment
    /// The value of the header `User-Agent` (RFC 9110 §10.1.5) of requests that bring none of their own.
    public var userAgent = "EdgeBlue"

    /// Creates settings with the default values.
    public init() {}
  }

  /// The loop of all connections: one after the other it takes what bodies hand over.
  private let loop: any EventLoop
  private let direct: HTTPClient
  private let proxied: [ProxySettings.Proxy: HTTPClient]
  private let proxies: ProxySettings
  private let userAgent: String

  /// Creates a client that trusts the certificates of the system, without connecting.
  /// - Parameters:
  ///   - connectTimeout: The timeout of a connection, TLS included.
  ///   - connections: The settings of connections to a host.
  public convenience init(connectTimeout: Duration, connections: Connections = Connections()) {
    self.init(connectTimeout, connections, TLSRules.client(), nil)
  }

  /// Creates a client that trusts more certificates than those of the system, without connecting.
  /// - Parameters:
  ///   - connectTimeout: The timeout of a connection, TLS included.
  ///   - certificates: The path of a PEM file with the additional certificates; `nil` for none.
  ///   - connections: The settings of connections to a host.
  ///   - loop: The loop of all connections; `nil` for one that other clients share.
  /// - Throws: ``UnreadableCertificates``.
  public convenience init(
    connectTimeout: Duration, certificates: String?, connections: Connections = Connections(),
    loop: (any EventLoop)? = nil
  ) throws(UnreadableCertificates) {
    var tls = TLSRules.client()
    if let certificates {
      do {
        tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(certificates))]
      } catch {
        throw UnreadableCertificates(path: certificates, description: Self.reason(certificates))
      }
    }
    self.init(connectTimeout, connections, tls, loop)
  }

  /// Returns why a file yields no certificates: the TLS library has one reason for all.
  private static func reason(_ path: String) -> String {
    var status = stat()
    guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
      return String(cString: strerror(errno)).lowercased()
    }
    if status.st_mode & S_IFMT == S_IFDIR { return "it is a folder" }
    if status.st_size == 0 { return "the file is empty" }
    return "the file contains no certificates in the form PEM, or damaged ones"
  }

  private init(
    _ connectTimeout: Duration, _ connections: Connections, _ tls: TLSConfiguration, _ loop: (any EventLoop)?
  ) {
    let configuration = Self.configuration(connectTimeout, connections, tls)
    let loop = loop ?? HTTPClient.defaultEventLoopGroup.next()
    self.loop = loop
    direct = HTTPClient(eventLoopGroupProvider: .shared(loop), configuration: configuration)
    proxies = connections.proxies
    userAgent = connections.userAgent
    proxied = Dictionary(
      uniqueKeysWithValues: connections.proxies.proxies.map { proxy in
        var configuration = configuration
        configuration.proxy = proxy.configuration
        return (proxy, HTTPClient(eventLoopGroupProvider: .shared(loop), configuration: configuration))
      })
  }

  /// Sends a request and returns the head of the response, whose body can then be read.
  /// - Parameters:
  ///   - request: The request.
  ///   - timeout: The timeout of the request and its response.
  /// - Throws: ``ProxySettings/InvalidProxy``; an error that ``ConnectionFailure`` classifies; `CancellationError`.
  public func execute(_ request: HTTPClientRequest, timeout: TimeAmount) async throws -> HTTPClientResponse {
    var sent = request
    sent.headers = naming(request.headers)
    return try await withClient(for: request.url) { [sent] in try await $0.execute(sent, timeout: timeout) }
  }

  /// Sends a request and returns the whole response. All of it happens on the thread of the connections, unlike with
  /// ``execute(_:timeout:)``, which starts a task for each request.
  /// - Parameters:
  ///   - request: The request.
  ///   - limit: The largest body of a response, in bytes.
  ///   - timeout: The timeout of the request and its response.
  /// - Throws: ``ProxySettings/InvalidProxy``; an error that ``ConnectionFailure`` classifies; `CancellationError`.
  public func response(
    to request: HTTPClient.Request, upTo limit: Int, timeout: TimeAmount
  ) async throws -> HTTPClient.Response {
    try Task.checkCancellation()
    var sent = request
    sent.headers = naming(request.headers)
    return try await withClient(for: request.url.absoluteString) { [sent] client in
      let whole = ResponseAccumulator(request: sent, maxBodySize: limit)
      let exchange = client.execute(request: sent, delegate: whole, deadline: .now() + timeout)
      return try await withTaskCancellationHandler {
        try await exchange.get()
      } onCancel: {
        exchange.cancel()
      }
    }
  }

  /// Returns the headers of a request with the name of this program, unless they have one.
  private func naming(_ headers: HTTPHeaders) -> HTTPHeaders {
    guard !headers.contains(name: "User-Agent") else { return headers }
    var named = headers
    named.add(name: "User-Agent", value: userAgent)
    return named
  }

  /// Calls a closure with the client for a URL, and throws its errors with the proxy's part in them.
  private func withClient<Response>(
    for url: String, _ body: (HTTPClient) async throws -> Response
  ) async throws -> Response {
    guard let proxy = try proxies.proxy(for: url), let client = proxied[proxy] else { return try await body(direct) }
    do {
      return try await body(client)
    } catch {
      throw UnusableProxy(proxy, error) ?? error
    }
  }

  /// Waits until the connections have taken what the bodies of requests have handed over so far, or hold it back.
  ///
  /// A body that waits here before each piece but the first is read no faster than its connection sends it. One that does
  /// not wait may be read into memory as a whole before the connection can stop it.
  public func handOver() async {
    await withCheckedContinuation { continuation in loop.execute { continuation.resume() } }
  }

  private static func configuration(
    _ connectTimeout: Duration, _ connections: Connections, _ tls: TLSConfiguration
  ) -> HTTPClient.Configuration {
    var configuration = HTTPClient.Configuration()
    configuration.timeout = .init(connect: TimeAmount(connectTimeout))
    configuration.redirectConfiguration = .disallow
    configuration.httpVersion = .http1Only
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections.keptPerHost
    configuration.connectionPool.idleTimeout = TimeAmount(connections.idleTimeout)
    configuration.maximumUsesPerConnection = connections.requestsPerConnection
    configuration.tlsConfiguration = tls
    if let limit = connections.acknowledgementLimit {
      let open = UploadConnections()
      configuration.http1_1ConnectionDebugInitializer = { channel in
        EventLoopFuture.andAllComplete(
          [UploadSocket.prepare(channel, limit: limit), open.add(channel)], on: channel.eventLoop)
      }
    }
    return configuration
  }

  deinit {
    // The clients outlive this object until their connections are closed; no caller is left for an error.
    for client in [direct] + proxied.values { client.shutdown { _ in } }
  }
}

extension ProxySettings.Proxy {
  fileprivate var configuration: HTTPClient.Configuration.Proxy {
    switch kind {
    case .socks5: return .socksServer(host: host, port: port)
    case .http:
      let login = login.map { HTTPClient.Authorization.basic(credentials: Data($0.utf8).base64EncodedString()) }
      return .server(host: host, port: port, authorization: login)
    }
  }
}
