internal import Glibc
public import Logging
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
public import SpeedTest

/// A measurement server of the RMBT protocol.
///
/// It serves all variants on one port: a client that sends an HTTP request within 300 ms gets the upgrade, to RMBT or to a
/// WebSocket, or the page that measures in a browser; another one gets the greeting. Beside it a UDP port answers pings.
///
/// ```swift
/// import Logging
/// import SpeedTest
///
/// let options = SpeedTestServer.Options(port: 5231, access: .keys([try SpeedTestKey("topsecret")]))
/// let server = try await SpeedTestServer.start(options, logger: Logger(label: "speedtest"))
/// print("listening on port", server.port)
/// await server.stop()
/// ```
public final class SpeedTestServer: Sendable {
  /// The clients that a server admits.
  public enum Access: Sendable {
    /// Every client, whatever its token.
    case open
    /// Clients whose token was made with one of these keys.
    case keys([SpeedTestKey])
  }

  /// The settings of a server.
  public struct Options: Sendable {
    /// The address to listen on; `nil` for all addresses of IPv6 and IPv4.
    public var address: String?
    /// The port to listen on; 0 for a free one.
    public var port: Int
    /// The clients that the server admits.
    public var access: Access
    /// The certificate for TLS; `nil` for plain TCP.
    public var certificate: SpeedTestCertificate?
    /// The UDP port that answers pings; 0 for a free one, `nil` for none.
    public var pingPort: Int?
    /// A TCP socket to use in place of the address and the port, such as one of a service manager; the server closes it.
    public var listeningSocket: Int32?
    /// A UDP socket to use in place of the address and the UDP port; the server closes it.
    public var pingSocket: Int32?
    /// The largest number of connections in all; the server closes others at once.
    public var connectionLimit = 1000
    /// The largest number of connections from one address, or from one /64 network of IPv6; the server closes others at
    /// once.
    public var connectionsPerAddress = 128

    /// Creates settings with the standard limits.
    public init(address: String? = nil, port: Int, access: Access, certificate: SpeedTestCertificate? = nil) {
      self.address = address
      self.port = port
      self.access = access
      self.certificate = certificate
    }
  }

  /// The counts of a server since its start.
  public struct Statistics: Sendable, Hashable {
    /// The connections that are open now.
    public var open = 0
    /// The connections that were accepted.
    public var accepted = 0
    /// The connections that were closed at once because of a limit.
    public var refused = 0
    /// The tokens that were not valid.
    public var rejectedTokens = 0
    /// The bytes of payload that were sent.
    public var sentBytes: UInt64 = 0
    /// The bytes that were received over TCP.
    public var receivedBytes: UInt64 = 0
    /// The pings that were answered.
    public var pings = 0
    /// The pings whose token was made for another address.
    public var refusedPings = 0
    /// The datagrams without a valid token, which got no answer.
    public var ignoredPings = 0
  }

  private let listener: any Channel
  private let pings: (any Channel)?
  private let state: ServerState

  private init(listener: any Channel, pings: (any Channel)?, state: ServerState) {
    self.listener = listener
    self.pings = pings
    self.state = state
  }

  /// Starts a server, which listens when the call returns.
  /// - Throws: `SpeedTestError` with code `.invalidArgument` for a certificate that cannot be read, and
  ///   `.unreachable` when the address or the port cannot be used.
  public static func start(_ options: Options, logger: Logger) async throws(SpeedTestError) -> SpeedTestServer {
    let tls = try options.certificate?.context()
    let state = ServerState(options, logger: logger)
    let streams = bootstrap(state, tls)
    let listener = try await channel(options, "port", options.port) { host in
      if let socket = options.listeningSocket { return streams.withBoundSocket(socket) }
      return streams.bind(host: host, port: options.port)
    }
    guard options.pingPort != nil || options.pingSocket != nil else {
      return SpeedTestServer(listener: listener, pings: nil, state: state)
    }
    let datagrams = DatagramBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(PingHandler(server: state))
        }
      }
    do throws(SpeedTestError) {
      let pings = try await channel(options, "UDP port", options.pingPort ?? 0) { host in
        if let socket = options.pingSocket { return datagrams.withBoundSocket(socket) }
        return datagrams.bind(host: host, port: options.pingPort ?? 0)
      }
      return SpeedTestServer(listener: listener, pings: pings, state: state)
    } catch {
      await close(listener)
      throw error
    }
  }

  private static func channel(
    _ options: Options, _ name: String, _ port: Int, _ bind: (String) -> EventLoopFuture<any Channel>
  ) async throws(SpeedTestError) -> any Channel {
    var failure: (any Error)?
    // A machine without IPv6 has no "::".
    for address in options.address.map({ [$0] }) ?? ["::", "0.0.0.0"] {
      do {
        return try await bind(address).get()
      } catch {
        failure = failure ?? error
      }
    }
    let reason = (failure as? IOError).map { "\($0.errnoCode == EADDRINUSE ? "the port is in use" : "\($0)")" }
    throw SpeedTestError(
      .unreachable, "listen on \(name) \(port): \(reason ?? failure.map { "\($0)" } ?? "no address")")
  }

  /// A channel that has failed is closed already.
  private static func close(_ channel: any Channel) async { _ = try? await channel.close().get() }

  private static func bootstrap(_ state: ServerState, _ tls: NIOSSLContext?) -> ServerBootstrap {
    ServerBootstrap(group: Sockets.loops)
      .serverChannelOption(.backlog, value: 256)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(Sockets.noDelay, value: 1)
      .childChannelOption(Sockets.unsent, value: Sockets.unsentLimit)
      .childChannelOption(.writeBufferWaterMark, value: Sockets.watermarks)
      .childChannelOption(.recvAllocator, value: Sockets.reading)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          // Thrown errors close the channel.
          guard state.admit(channel) else { throw ChannelError.eof }
          if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
          try channel.pipeline.syncOperations.addHandler(
            ServerHandler(server: state, isSecured: tls != nil, time: .continuous))
        }
      }
  }

  /// The port that the server listens on.
  public var port: Int { listener.localAddress?.port ?? 0 }

  /// The UDP port that answers pings; `nil` without one.
  public var pingPort: Int? { pings?.localAddress?.port }

  /// The counts up to now.
  public var statistics: Statistics { state.statistics }

  /// Stops listening and closes all connections; returns when they are closed.
  public func stop() async {
    await Self.close(listener)
    if let pings { await Self.close(pings) }
    for channel in state.stop() {
      channel.close(promise: nil)
      _ = try? await channel.closeFuture.get()
    }
  }
}
