internal import NIOCore
internal import SpeedTest

/// A handler in front of the one of TLS, which does not tell what cipher suite the server has selected.
final class CipherReader: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private var hello = TLSServerHello()

  /// The name of the cipher suite; `nil` before the server has selected one.
  var cipher: String? { hello.cipherName }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if hello.cipher == nil { hello.receive(unwrapInboundIn(data).readableBytesView) }
    context.fireChannelRead(data)
  }
}
