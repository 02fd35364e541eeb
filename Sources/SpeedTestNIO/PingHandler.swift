internal import NIOCore

/// The channel handler of the responder to pings over UDP.
final class PingHandler: ChannelInboundHandler {
  typealias InboundIn = AddressedEnvelope<ByteBuffer>
  typealias OutboundOut = AddressedEnvelope<ByteBuffer>

  private let server: ServerState

  init(server: ServerState) { self.server = server }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let envelope = unwrapInboundIn(data)
    // A reply that does not fit the socket's buffer is lost, as it may be on the way; nothing is queued for it.
    guard context.channel.isWritable,
      let reply = server.reply(to: Array(envelope.data.readableBytesView), from: envelope.remoteAddress)
    else { return }
    let buffer = context.channel.allocator.buffer(bytes: reply)
    context.writeAndFlush(
      wrapOutboundOut(AddressedEnvelope(remoteAddress: envelope.remoteAddress, data: buffer)), promise: nil)
  }

  /// One datagram that cannot be answered is no reason to answer no other one.
  func errorCaught(context: ChannelHandlerContext, error: any Error) { server.failed(error, from: nil) }
}
