internal import NIOCore
internal import NIOTLS
internal import SpeedTest
internal import Timing

/// The channel handler of a server's connection: it performs the actions of ``ServerConnection``.
final class ServerHandler: PayloadHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let server: ServerState
  private let time: TimeSource
  private var connection: ServerConnection?
  private var context: ChannelHandlerContext?
  private let pump = PayloadPump()
  private var drain: PayloadDrain
  private var timer = DeadlineTimer()
  private let isSecured: Bool

  /// The timeout of a TLS handshake.
  private static let handshakeLimit = Duration.seconds(10)

  init(server: ServerState, isSecured: Bool, time: TimeSource) {
    self.server = server
    self.isSecured = isSecured
    self.time = time
    drain = PayloadDrain(isSecured: isSecured)
  }

  // MARK: The channel

  func channelActive(context: ChannelHandlerContext) {
    guard self.context == nil else { return }
    self.context = context
    guard isSecured else { return start() }
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    let now = time.now
    timer.set(to: now + Self.handshakeLimit, at: now, on: context.eventLoop) { bound.value.close(promise: nil) }
  }

  /// The time in which a client shows that it speaks HTTP starts after the handshake, which may take longer.
  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshakeCompleted? = event as? TLSUserEvent { start() }
    context.fireUserInboundEventTriggered(event)
  }

  private func start() {
    let now = time.now
    connection = ServerConnection(isOpen: server.isOpen, at: now)
    schedule(at: now)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let buffer = unwrapInboundIn(data)
    let isWritable = context.channel.isWritable
    server.count(received: buffer.readableBytes)
    perform { connection, now in
      buffer.withUnsafeReadableBytes { connection.receive($0, at: now, isWritable: isWritable) }
    }
    do {
      try drain.run(context) {
        connection?.skippable ?? 0
      } dropped: { count in
        server.count(received: count)
        let isWritable = context.channel.isWritable
        perform { connection, now in connection.skip(count, at: now, isWritable: isWritable) }
      }
    } catch {
      errorCaught(context: context, error: error)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    end()
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    server.failed(error, from: context.remoteAddress)
    end()
    context.close(promise: nil)
  }

  // MARK: The machine

  private func perform(_ event: (inout ServerConnection, Duration) -> [ServerConnection.Action]) {
    guard connection != nil else { return }
    let now = time.now
    // Taken anew for each action: an action may end the connection.
    for action in event(&connection!, now) where connection != nil { perform(action) }
    schedule(at: now)
  }

  private func perform(_ action: ServerConnection.Action) {
    guard let context else { return }
    switch action {
    case .send(let text):
      if connection?.isFramed == true {
        write(context.channel.allocator.buffer(bytes: WebSocket.frames(ofLines: text)))
      } else {
        write(context.channel.allocator.buffer(string: text))
      }
    case .respond(let response): write(context.channel.allocator.buffer(string: response))
    case .pong(let payload): write(context.channel.allocator.buffer(bytes: WebSocket.frame(.pong, payload)))
    case .startPayload: sendPayload()
    case .verify(let token):
      let verdict = server.verify(token, from: context.remoteAddress)
      perform { connection, now in connection.tokenVerified(verdict, at: now) }
    case .close:
      if connection?.isFramed == true { write(context.channel.allocator.buffer(bytes: WebSocket.close)) }
      end()
      context.close(promise: nil)
    }
  }

  private func write(_ buffer: ByteBuffer) {
    context?.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
  }

  func sendPayload() {
    guard let context, let connection, connection.hasPayload else { return }
    var sent = 0
    let outcome = pump.run(context, isFramed: connection.isFramed) {
      let payload = self.connection?.nextPayload(at: time.now)
      sent += payload?.bytes ?? 0
      return payload
    }
    server.count(sent: sent)
    switch outcome {
    case .finished: perform { connection, now in connection.resume(at: now) }
    case .full: break
    case .yield: sendPayload(afterOthersOf: context.eventLoop)
    }
  }

  private func schedule(at now: Duration) {
    guard let loop = context?.eventLoop else { return }
    let bound = NIOLoopBound(self, eventLoop: loop)
    timer.set(to: connection?.deadline, at: now, on: loop) {
      bound.value.timer.cancel()
      bound.value.perform { connection, now in connection.timeOut(at: now) }
    }
  }

  private func end() {
    timer.cancel()
    connection = nil
  }
}
