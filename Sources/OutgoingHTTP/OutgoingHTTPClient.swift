public import AsyncHTTPClient
internal import NIOCore
internal import NIOSSL

/// An HTTP/1.1 client that follows no redirect, repeats no request, and shuts down with its last reference.
///
/// A redirect could send a token or a signature to another host, and a repeated request could be performed twice: both
/// are for the caller to decide.
///
/// ```swift
/// let outgoing = OutgoingHTTPClient(connectTimeout: .seconds(5))
/// do {
///   let request = HTTPClientRequest(url: "https://coordinator.example/status")
///   print(try await outgoing.client.execute(request, timeout: .seconds(20)).status)
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

    /// Creates settings with the default values.
    public init() {}
  }

  /// The client of AsyncHTTPClient; its owner must not shut it down.
  public let client: HTTPClient

  /// Creates a client that trusts the certificates of the system, without connecting.
  /// - Parameters:
  ///   - connectTimeout: The timeout of a connection, TLS included.
  ///   - connections: The settings of connections to a host.
  public init(connectTimeout: Duration, connections: Connections = Connections()) {
    client = Self.client(connectTimeout, connections, nil)
  }

  /// Creates a client that trusts more certificates than those of the system, without connecting.
  /// - Parameters:
  ///   - connectTimeout: The timeout of a connection, TLS included.
  ///   - certificates: The path of a PEM file with the additional certificates; `nil` for none.
  ///   - connections: The settings of connections to a host.
  /// - Throws: ``UnreadableCertificates``.
  public init(
    connectTimeout: Duration, certificates: String?, connections: Connections = Connections()
  ) throws(UnreadableCertificates) {
    var tls: TLSConfiguration?
    if let certificates {
      do {
        tls = .makeClientConfiguration()
        tls?.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(certificates))]
      } catch {
        throw UnreadableCertificates(path: certificates, description: "\(error)")
      }
    }
    client = Self.client(connectTimeout, connections, tls)
  }

  private static func client(
    _ connectTimeout: Duration, _ connections: Connections, _ tls: TLSConfiguration?
  ) -> HTTPClient {
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
      configuration.http1_1ConnectionDebugInitializer = { UploadSocket.prepare($0, limit: limit) }
    }
    return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }

  deinit {
    // The client outlives this object until its connections are closed; no caller is left for an error.
    client.shutdown { _ in }
  }
}
