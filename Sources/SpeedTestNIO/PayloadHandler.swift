internal import NIOCore

/// A channel handler of a connection that sends payload when the socket has room for it.
protocol PayloadHandler: ChannelInboundHandler, SendableMetatype {
  /// Sends payload until there is none, the socket is full, or other connections have their turn.
  func sendPayload()
}

extension PayloadHandler {
  func handlerAdded(context: ChannelHandlerContext) {
    if context.channel.isActive { channelActive(context: context) }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable { sendPayload() }
    context.fireChannelWritabilityChanged()
  }

  /// Sends more payload after the other connections of the event loop, on which the caller is.
  func sendPayload(afterOthersOf loop: any EventLoop) {
    let bound = NIOLoopBound(self, eventLoop: loop)
    loop.execute { bound.value.sendPayload() }
  }
}
