internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import SpeedTest
internal import Streams
internal import Timing

/// A connection to a QoS server, which the tests of this server share.
final class QTPClient: Sendable {
  private struct State {
    var connection: QTPConnection
    var ready: CheckedContinuation<Void, any Error>?
    var replies: [Int: CheckedContinuation<String, any Error>] = [:]
    /// The replies that came before their command began to wait.
    var early: [Int: String] = [:]
    /// The commands whose replies are wanted.
    var requests: Set<Int> = []
    var lastID = 0
    var channel: (any Channel)?
    /// The reason for which the connection has ended.
    var failure: SpeedTestError?
  }

  private let state: Lock<State>
  private let host: String

  /// The timeout of the connection, of the authorisation and of a reply.
  private static let limit = Duration.seconds(10)

  private init(_ host: String, token: String) {
    self.host = host
    state = Lock(State(connection: QTPConnection(token: token)))
  }

  /// Connects and authorises.
  ///
  /// TLS first, whose server waits for the client; a server without TLS sends its greeting at once, which no handshake
  /// accepts.
  /// - Parameters:
  ///   - host: The name or the address of the server.
  ///   - port: The port of the server.
  ///   - token: The token of the test.
  ///   - security: The verification of certificates, and whether a server without TLS is accepted.
  static func connect(
    _ host: String, _ port: Int, token: String, _ security: QoSSecurity
  ) async throws -> QTPClient {
    do {
      return try await connect(host, port, token, try security.transport.context())
    } catch let error as SpeedTestError where error.code == Self.notTLS && security.permitsPlain {
      return try await connect(host, port, token, nil)
    }
  }

  private static func connect(
    _ host: String, _ port: Int, _ token: String, _ tls: NIOSSLContext?
  ) async throws -> QTPClient {
    let client = QTPClient(host, token: token)
    do {
      try await TimeSource.continuous.withLimit(
        limit,
        orThrow: SpeedTestError(
          .timedOut, "connect to the QoS server \(host):\(port): no answer in time")
      ) { try await client.open(port, tls) }
      return client
    } catch {
      client.close()
      throw error
    }
  }

  private func open(_ port: Int, _ tls: NIOSSLContext?) async throws {
    let channel: any Channel
    do {
      channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        .connectTimeout(TimeAmount(Self.limit))
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            if let tls {
              let handler = try NIOSSLClientHandler(context: tls, serverHostname: self.serverName)
              try channel.pipeline.syncOperations.addHandler(handler)
            }
            try channel.pipeline.syncOperations.addHandler(QTPHandler(client: self))
          }
        }.connect(host: host, port: port).get()
    } catch let error as SpeedTestError {
      throw error
    } catch {
      throw SpeedTestError(
        .unreachable, "connect to the QoS server \(host):\(port): \(Self.words(error))")
    }
    let isTooLate = state.withLock { state in
      if state.failure == nil { state.channel = channel }
      return state.failure != nil
    }
    if isTooLate { channel.close(promise: nil) }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let now = state.withLock { state -> Result<Void, any Error>? in
          if let failure = state.failure { return .failure(failure) }
          if state.connection.isReady { return .success(()) }
          state.ready = continuation
          return nil
        }
        if let now { continuation.resume(with: now) }
      }
    } onCancel: {
      self.fail(
        SpeedTestError(.timedOut, "connect to the QoS server \(host):\(port): no answer in time"))
    }
  }

  /// The name for the handshake; an address has none.
  private var serverName: String? {
    let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
    return isAddress ? nil : host
  }

  /// The code of an error for a server that does not speak TLS.
  private static let notTLS = SpeedTestError.Code("no TLS", .failed)

  private static func words(_ error: any Error) -> String {
    switch error {
    case let error as IOError: SystemCallError("connect", errno: error.errnoCode).description
    case let error as NIOConnectionError:
      error.connectionErrors.first.map { words($0.error) } ?? "unknown host name"
    case ChannelError.connectTimeout: "no answer within 10 s"
    default: "no connection"
    }
  }

  /// The address of the server.
  var address: SocketAddress? { state.withLock { $0.channel?.remoteAddress } }

  // MARK: Commands

  /// Sends a command and returns its reply.
  /// - Throws: `SpeedTestError` with code `.declined` for an error of the server, `.timedOut`, `.connectionClosed`.
  func request(_ command: String, within limit: Duration = QTPClient.limit) async throws -> String {
    let id = try send(command, isRequest: true)
    let late = SpeedTestError(.timedOut, "the QoS server did not answer \(command)")
    let reply = try await TimeSource.continuous.withLimit(limit, orThrow: late) {
      try await self.reply(to: id, late)
    }
    guard !reply.hasPrefix("ERR") else {
      throw SpeedTestError(.declined, "the QoS server answered \(command) with \(reply.prefix(80))")
    }
    return reply
  }

  /// Sends a command whose result is a connection or datagrams, and not a reply.
  @discardableResult
  func send(_ command: String, isRequest: Bool = false) throws -> Int {
    let (id, channel) = try state.withLock { state in
      guard state.failure == nil, let channel = state.channel else {
        throw state.failure
          ?? SpeedTestError(.connectionClosed, "the connection to the QoS server is closed")
      }
      state.lastID += 1
      if isRequest { state.requests.insert(state.lastID) }
      return (state.lastID, channel)
    }
    channel.writeAndFlush(ByteBuffer(string: "\(command) +ID\(id)\n"), promise: nil)
    return id
  }

  private func reply(to id: Int, _ late: SpeedTestError) async throws -> String {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let now = state.withLock { state -> Result<String, any Error>? in
          if let text = state.early.removeValue(forKey: id) { return .success(text) }
          if let failure = state.failure { return .failure(failure) }
          // Not when it was cancelled before it began to wait.
          guard state.requests.contains(id) else { return .failure(late) }
          state.replies[id] = continuation
          return nil
        }
        if let now { continuation.resume(with: now) }
      }
    } onCancel: {
      self.state.withLock { state in
        state.requests.remove(id)
        return state.replies.removeValue(forKey: id)
      }?.resume(throwing: late)
    }
  }

  /// Closes the connection.
  func close() {
    fail(SpeedTestError(.connectionClosed, "the connection to the QoS server is closed"))
  }

  // MARK: Events of the channel

  fileprivate func receive(_ bytes: [UInt8], _ channel: any Channel) {
    do {
      let actions = try state.withLock { try $0.connection.receive(bytes) }
      for action in actions { perform(action, channel) }
    } catch {
      fail(error as? SpeedTestError ?? SpeedTestError(.invalidReply, "the QoS server"))
    }
  }

  private func perform(_ action: QTPConnection.Action, _ channel: any Channel) {
    switch action {
    case .send(let line): channel.writeAndFlush(ByteBuffer(string: line + "\n"), promise: nil)
    case .ready:
      state.withLock { state in
        defer { state.ready = nil }
        return state.ready
      }?.resume()
    case .reply(let id, let text):
      state.withLock { state -> CheckedContinuation<String, any Error>? in
        guard state.requests.remove(id) != nil else { return nil }
        let waiting = state.replies.removeValue(forKey: id)
        if waiting == nil { state.early[id] = text }
        return waiting
      }?.resume(returning: text)
    }
  }

  fileprivate func closed(_ error: (any Error)?) {
    let text = error.map { "\($0)" } ?? ""
    switch error {
    case .some where text.contains("WRONG_VERSION_NUMBER"):
      fail(SpeedTestError(Self.notTLS, "the QoS server does not speak TLS"))
    case .some where text.contains("CERTIFICATE_VERIFY_FAILED"):
      fail(
        SpeedTestError(
          .unreachable, "TLS with the QoS server \(host): the certificate is not trusted"))
    default: fail(state.withLock { $0.connection.closedError })
    }
  }

  private func fail(_ error: SpeedTestError) {
    let (channel, ready, replies) = state.withLock { state in
      defer {
        state.failure = state.failure ?? error
        state.channel = nil
        state.ready = nil
        state.replies = [:]
      }
      return (state.channel, state.ready, state.replies)
    }
    channel?.close(promise: nil)
    ready?.resume(throwing: error)
    for reply in replies.values { reply.resume(throwing: error) }
  }
}

/// The verification of QoS servers.
struct QoSSecurity: Sendable {
  /// TLS with or without verification of certificates.
  var transport: SpeedTestTransport
  /// A Boolean value that indicates whether the token may be sent without encryption.
  var permitsPlain: Bool
}

/// The end of a channel to a QoS server.
private final class QTPHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let client: QTPClient

  init(client: QTPClient) { self.client = client }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    client.receive(Array(unwrapInboundIn(data).readableBytesView), context.channel)
  }

  func channelInactive(context: ChannelHandlerContext) {
    client.closed(nil)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    client.closed(error)
    context.close(promise: nil)
  }
}
