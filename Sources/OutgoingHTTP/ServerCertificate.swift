internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import Streams

/// The certificate that a server presents, whether it is trusted or not.
///
/// The TLS library does not tell why it trusts a certificate not, and the answer to an expired one differs from that to an
/// unknown authority. Nothing is sent to the server but the beginning of a connection.
///
/// ```swift
/// if let certificate = await ServerCertificate.presented(by: "store.example", port: 443) {
///   print(certificate.isOutOfDate(at: 1_763_800_000))
/// }
/// ```
public struct ServerCertificate: Sendable, Hashable {
  /// The first second in which the certificate is valid, in Unix time.
  public let notBefore: Int64
  /// The last second in which the certificate is valid, in Unix time.
  public let notAfter: Int64

  /// Returns `true` if the certificate is not valid yet, or no longer.
  /// - Parameter seconds: The instant, in Unix time.
  public func isOutOfDate(at seconds: Int64) -> Bool { seconds < notBefore || seconds > notAfter }

  /// Connects to a server and returns its certificate.
  /// - Parameters:
  ///   - host: The name or the address of the server.
  ///   - port: The port of the server.
  ///   - timeout: The timeout of the connection, TLS included.
  /// - Returns: The certificate; `nil` if the server is unreachable or presents none.
  public static func presented(by host: String, port: Int, timeout: Duration = .seconds(5)) async -> ServerCertificate?
  {
    let found = Lock<ServerCertificate?>(nil)
    do {
      let context = try NIOSSLContext(configuration: TLSRules.client())
      let channel = try await ClientBootstrap(group: NIOSingletons.posixEventLoopGroup)
        .connectTimeout(TimeAmount(timeout))
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            let look: NIOSSLCustomVerificationCallback = { chain, promise in
              found.withLock { $0 = chain.first.map(ServerCertificate.init) }
              promise.succeed(.failed)
            }
            let handler = try NIOSSLClientHandler(
              context: context, serverHostname: name(host), customVerificationCallback: look)
            try channel.pipeline.syncOperations.addHandler(handler)
          }
        }
        .connect(host: host, port: port).get()
      // The handshake never succeeds: it ends with the certificate, or with this limit.
      let limit = channel.eventLoop.scheduleTask(in: TimeAmount(timeout)) { channel.close(mode: .all, promise: nil) }
      defer { limit.cancel() }
      try await channel.closeFuture.get()
    } catch {
      return nil
    }
    return found.withLock { $0 }
  }

  private init(_ certificate: NIOSSLCertificate) {
    notBefore = Int64(certificate.notValidBefore)
    notAfter = Int64(certificate.notValidAfter)
  }

  /// Returns the name for the server to choose a certificate by; an address is none.
  private static func name(_ host: String) -> String? {
    host.contains(":") || host.utf8.allSatisfy { (48...57).contains($0) || $0 == 46 } ? nil : host
  }
}
