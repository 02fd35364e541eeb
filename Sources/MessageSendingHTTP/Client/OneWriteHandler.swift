internal import NIOCore
internal import NIOHTTP1

/// A channel handler that holds a request back until its end, so that head and body leave in one write.
///
/// Two writes can be two packets. Whether they are would depend on the load of the host, and be one thing more that an
/// observer of the network sees.
final class OneWriteHandler: ChannelOutboundHandler {
  typealias OutboundIn = HTTPClientRequestPart
  typealias OutboundOut = HTTPClientRequestPart

  private var isComplete = false

  /// Adds a handler to a connection of the HTTP client.
  static func add(to channel: any Channel) -> EventLoopFuture<Void> {
    channel.eventLoop.submit {
      let pipeline = channel.pipeline.syncOperations
      // Between the client and the encoder, which is its neighbour.
      let encoder = try pipeline.handler(type: HTTPRequestEncoder.self)
      try pipeline.addHandler(OneWriteHandler(), position: .after(encoder))
    }
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .end = unwrapOutboundIn(data) { isComplete = true }
    context.write(data, promise: promise)
  }

  func flush(context: ChannelHandlerContext) {
    guard isComplete else { return }
    isComplete = false
    context.flush()
  }
}
