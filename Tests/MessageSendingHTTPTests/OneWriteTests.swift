import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import MessageSendingHTTP

/// How many packets a request has is nothing that the load of a host may decide.
@Suite struct OneWriteTests {
  @Test("The head and the body of a request leave together, at its end") func headAndBodyLeaveTogether() throws {
    let channel = EmbeddedChannel(handlers: [HTTPRequestEncoder(), OneWriteHandler()])
    let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: "/", headers: ["Content-Length": "2"])
    for _ in 0..<2 {
      channel.writeAndFlush(HTTPClientRequestPart.head(head), promise: nil)
      channel.writeAndFlush(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(string: "ab"))), promise: nil)
      #expect(try channel.readOutbound(as: ByteBuffer.self) == nil)
      channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
      var sent = ""
      while let part = try channel.readOutbound(as: ByteBuffer.self) { sent += String(buffer: part) }
      #expect(sent.hasPrefix("POST / HTTP/1.1\r\n"))
      #expect(sent.hasSuffix("\r\n\r\nab"))
    }
    _ = try channel.finish()
  }
}
