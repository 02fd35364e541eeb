internal import DurableFiles
internal import FoundationEssentials
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
public import SpeedTest
internal import Streams
internal import Timing

/// A client that measures the throughput and the latency of the path to an RMBT server.
///
/// ```swift
/// import SpeedTest
///
/// let client = SpeedTestClient(host: "192.0.2.1", port: 5231)
/// let report = try await client.run(try SpeedTestPlan(threads: 3, seconds: 7))
/// if let download = report.result.download { print(download.throughput.bitsPerSecond / 1e6, "Mbit/s") }
/// ```
public struct SpeedTestClient: Sendable {
  /// The name or the address of the server.
  public var host: String
  /// The port of the server.
  public var port: Int
  /// The key that is shared with the server; without it a token is sent that only an open server accepts.
  public var key: SpeedTestKey?
  /// The token that a control server has granted, in place of one that is made with the key.
  package var grantedToken: String?
  /// The form of the token.
  public var tokenForm = SpeedTestTokenForm.v1
  /// The transport of the connections.
  public var transport = SpeedTestTransport.plain
  /// A Boolean value that indicates whether each connection begins with an HTTP upgrade, which some servers require.
  public var usesHTTPUpgrade = false

  /// The longest durations of the parts of a connection.
  package var limits = ClientConnection.Limits()

  private let uuid = UUID()

  /// The timeout of a connection until TCP is established.
  static let connectTimeout = TimeAmount.seconds(10)

  /// Creates a client of a server; it connects when a test runs.
  public init(host: String, port: Int, key: SpeedTestKey? = nil) {
    self.host = host
    self.port = port
    self.key = key
  }

  /// Runs a test and returns its result, also when it did not finish.
  ///
  /// A test that fails or is cancelled returns what it measured until then, with `SpeedTestResult.failure`. When the
  /// call returns, all connections are closed.
  /// - Parameters:
  ///   - plan: The size of the test.
  ///   - meter: A meter to watch the progress.
  /// - Throws: `SpeedTestError` with code `.invalidArgument` when the certificates to trust cannot be read.
  public func run(
    _ plan: SpeedTestPlan, meter: SpeedTestMeter = SpeedTestMeter()
  ) async throws(SpeedTestError) -> SpeedTestReport {
    let tls = try transport.context()
    // Every connection has at most two events under way, beside those of the test.
    let (events, source) = BoundedStream.make(
      of: SpeedTestMachine.Event.self, limit: 4 * plan.threads + 16, policy: .dropNewest)
    let connections = ClientConnections(meter: meter) { source.yield($0) }
    source.yield(.start)
    let (result, counters) = await withTaskCancellationHandler {
      await drive(SpeedTestMachine(plan), events, connections, tls)
    } onCancel: {
      source.yield(.cancel)
    }
    await connections.closeAll()
    let traffic = connections.info?.interface.flatMap { counters.traffic(of: $0) }
    return SpeedTestReport(result: result, connection: connections.info, traffic: traffic)
  }

  /// Passes events to the machine and performs its actions until it has a result.
  ///
  /// In a task of its own: a cancelled one would stop reading the events, and the machine could not end the test.
  private func drive(
    _ machine: SpeedTestMachine, _ events: BoundedStream<SpeedTestMachine.Event>, _ connections: ClientConnections,
    _ tls: NIOSSLContext?
  ) async -> (SpeedTestResult, InterfaceCounters) {
    await Task {
      var machine = machine
      var counters = InterfaceCounters()
      let file = SmallFile(InterfaceCounters.path)
      let time = TimeSource.continuous
      for await event in events {
        for action in machine.handle(event, at: time.now) {
          switch action {
          case .connect(let index): connect(index, connections, tls, time)
          case .run(let index, let exchange): connections.run(exchange, on: index)
          case .close(let index): connections.close(index)
          case .enter(let phase):
            counters.mark(phase, file.text(limit: InterfaceCounters.limit) ?? "")
            connections.meter.enter(phase)
          case .finish(let result): return (result, counters)
          }
        }
      }
      return (machine.result, counters)
    }.value
  }

  private func connect(_ index: Int, _ connections: ClientConnections, _ tls: NIOSSLContext?, _ time: TimeSource) {
    let client = self
    ClientBootstrap(group: Sockets.loops)
      .connectTimeout(Self.connectTimeout)
      .channelOption(Sockets.noDelay, value: 1)
      .channelOption(Sockets.unsent, value: Sockets.unsentLimit)
      .channelOption(.writeBufferWaterMark, value: Sockets.watermarks)
      .channelOption(.recvAllocator, value: Sockets.reading)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          guard connections.register(channel) else { throw CancellationError() }
          if let tls {
            try channel.pipeline.syncOperations.addHandler(CipherReader())
            try channel.pipeline.syncOperations.addHandler(client.tlsHandler(tls))
          }
          try channel.pipeline.syncOperations.addHandler(
            ClientHandler(index: index, client: client, time: time, connections: connections))
        }
      }
      .connect(host: host, port: port)
      .whenFailure { error in connections.report(.failed(index, unreachable(error))) }
  }

  private func tlsHandler(_ context: NIOSSLContext) throws -> NIOSSLClientHandler {
    do {
      return try NIOSSLClientHandler(context: context, serverHostname: host)
    } catch let error as NIOSSLExtraError where error == .cannotUseIPAddressInSNI {
      // An address needs no name in the handshake; the certificate is compared with the address.
      return try NIOSSLClientHandler(context: context, serverHostname: nil)
    }
  }

  /// Returns the token of a connection.
  /// - Parameter address: The address of this machine on the connection, 16 bytes.
  func token(from address: [UInt8]?) -> String {
    if let grantedToken { return grantedToken }
    guard let key else { return uuid.uuidString.lowercased() }
    return SpeedTestToken.make(
      tokenForm, key: key, uuid: uuid, seconds: WallClock.unixMilliseconds() / 1000, address: address ?? [])
  }

  /// Returns the error for a failed TLS handshake; `nil` for another error, which the protocol knows better.
  func failure(_ error: any Error) -> SpeedTestError? {
    switch error {
    case NIOSSLError.uncleanShutdown: nil
    case is BoringSSLError, is NIOSSLError, is NIOSSLExtraError:
      SpeedTestError(.unreachable, "TLS with \(host):\(port): " + Self.handshakeFailure("\(error)"))
    default: nil
    }
  }

  /// The reason in words; other reasons are those of the TLS library, without the place in its source.
  private static func handshakeFailure(_ text: String) -> String {
    if text.contains("CERTIFICATE_VERIFY_FAILED") { return "the certificate is not trusted" }
    return String((text.split(separator: " at /").first ?? "the handshake failed").prefix(200))
  }

  private func unreachable(_ error: any Error) -> SpeedTestError {
    let reason: String
    switch error {
    case let error as NIOConnectionError:
      let dns = error.dnsAError.map { "\($0)" } ?? error.dnsAAAAError.map { "\($0)" }
      let connect = error.connectionErrors.first.map { Self.words(for: $0.error) }
      reason = connect ?? dns ?? "no address"
    default: reason = Self.words(for: error)
    }
    return SpeedTestError(.unreachable, "connect to \(host):\(port): \(reason)")
  }

  private static func words(for error: any Error) -> String {
    switch error {
    case let error as IOError: SystemCallError("connect", errno: error.errnoCode).description
    case ChannelError.connectTimeout: "no answer within 10 s"
    default: "\(error)"
    }
  }
}
