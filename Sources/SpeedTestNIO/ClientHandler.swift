internal import NIOCore
internal import NIOSSL
internal import SpeedTest
internal import Timing

/// The channel handler of a client's connection: it performs the actions of ``ClientConnection``.
final class ClientHandler: PayloadHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let index: Int
  private let client: SpeedTestClient
  private let time: TimeSource
  private let connections: ClientConnections
  private var connection: ClientConnection?
  private var context: ChannelHandlerContext?
  private let pump = PayloadPump()
  private var drain: PayloadDrain
  private var timer = DeadlineTimer()
  private var counted: UInt64 = 0

  init(index: Int, client: SpeedTestClient, time: TimeSource, connections: ClientConnections) {
    self.index = index
    self.client = client
    self.time = time
    self.connections = connections
    drain = PayloadDrain(isSecured: client.transport != .plain)
  }

  // MARK: The owner

  /// Starts an exchange.
  func start(_ exchange: Exchange) {
    counted = 0
    perform { connection, now throws(SpeedTestError) in try connection.start(exchange, at: now) }
  }

  /// Closes the connection, with a farewell when no exchange is under way.
  func close() {
    guard let context else { return }
    if connection?.isIdle == true { send(ClientLine.quit.text + "\n") }
    end()
    context.close(promise: nil)
  }

  // MARK: The channel

  func channelActive(context: ChannelHandlerContext) {
    guard connection == nil else { return }
    self.context = context
    let connection = ClientConnection(
      token: client.token(from: Sockets.bytes(of: context.channel.localAddress)), upgrades: client.usesHTTPUpgrade,
      limits: client.limits, at: time.now)
    self.connection = connection
    connections.opened(index, ClientLink(channel: context.channel, handler: .init(self, eventLoop: context.eventLoop)))
    if !connection.opening.isEmpty { send(connection.opening) }
    schedule(at: time.now)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let buffer = unwrapInboundIn(data)
    perform { connection, now throws(SpeedTestError) in
      // The closure of the buffer throws any error, so that the result is carried out of it.
      var result = Result<[ClientConnection.Action], SpeedTestError>.success([])
      buffer.withUnsafeReadableBytes { bytes in
        do throws(SpeedTestError) {
          result = .success(try connection.receive(bytes, at: now))
        } catch {
          result = .failure(error)
        }
      }
      return try result.get()
    }
    do {
      try drain.run(context) {
        connection?.skippable ?? 0
      } dropped: { count in
        perform { connection, now throws(SpeedTestError) in
          connection.skip(count, at: now)
          return []
        }
      }
    } catch {
      errorCaught(context: context, error: error)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    if let connection { fail(connection.closedError) }
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    fail(client.failure(error) ?? connection?.closedError ?? SpeedTestError(.unreachable, "\(error)"))
  }

  // MARK: The machine

  private func perform(
    _ event: (inout ClientConnection, Duration) throws(SpeedTestError) -> [ClientConnection.Action]
  ) {
    guard connection != nil else { return }
    let now = time.now
    do throws(SpeedTestError) {
      let actions = try event(&connection!, now)
      count()
      for action in actions { perform(action) }
      schedule(at: now)
    } catch {
      fail(error)
    }
  }

  private func perform(_ action: ClientConnection.Action) {
    switch action {
    case .send(let text): send(text)
    case .startPayload: sendPayload()
    case .ready(let limits):
      connections.describe(context?.channel, serverVersion: connection?.serverVersion ?? "")
      connections.report(.ready(index, limits))
    case .finished(let report):
      connections.report(.finished(index, report))
      // What the server still sends belongs to an exchange that is over.
      if !report.isComplete { close() }
    }
  }

  private func send(_ text: String) {
    guard let context else { return }
    context.writeAndFlush(wrapOutboundOut(context.channel.allocator.buffer(string: text)), promise: nil)
  }

  func sendPayload() {
    guard let context, connection != nil else { return }
    let outcome = pump.run(context) { connection?.nextPayload(at: time.now) }
    if outcome == .yield { sendPayload(afterOthersOf: context.eventLoop) }
  }

  /// Adds to the meter what has been transferred since the last time.
  private func count() {
    guard let transferred = connection?.transferred, transferred > counted else { return }
    connections.meter.add(transferred - counted)
    counted = transferred
  }

  private func schedule(at now: Duration) {
    guard let loop = context?.eventLoop else { return }
    let bound = NIOLoopBound(self, eventLoop: loop)
    timer.set(to: connection?.deadline, at: now, on: loop) {
      bound.value.timer.cancel()
      bound.value.perform { connection, now throws(SpeedTestError) in try connection.timeOut(at: now) }
    }
  }

  private func fail(_ error: SpeedTestError) {
    guard connection != nil, let context else { return }
    end()
    connections.report(.failed(index, error))
    context.close(promise: nil)
  }

  private func end() {
    timer.cancel()
    connection = nil
  }
}
