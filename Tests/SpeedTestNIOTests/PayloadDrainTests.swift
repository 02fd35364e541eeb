import NIOCore
import NIOPosix
import Testing

@testable import SpeedTestNIO

@Suite("Payload that is dropped at its socket", .timeLimit(.minutes(5)))
struct PayloadDrainTests {
  /// A stream whose bytes show their place.
  private static let sent = (0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) }

  /// Receives the stream over loopback, and drops at most `allowed` bytes of it.
  private func receive(allowed: Int, isSecured: Bool) async throws -> DroppingHandler.Received {
    let group = MultiThreadedEventLoopGroup.singleton
    let server = try await ServerBootstrap(group: group)
      .childChannelInitializer { channel in
        channel.writeAndFlush(ByteBuffer(bytes: Self.sent)).whenComplete { _ in channel.close(promise: nil) }
        return channel.eventLoop.makeSucceededVoidFuture()
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let promise = group.any().makePromise(of: DroppingHandler.Received.self)
    let client = try await ClientBootstrap(group: group)
      .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 1000))
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(
            DroppingHandler(allowed: allowed, isSecured: isSecured, promise))
        }
      }
      .connect(to: try #require(server.localAddress)).get()
    let received = try await promise.futureResult.get()
    try await client.closeFuture.get()
    try await server.close()
    return received
  }

  @Test("No more is dropped than may be, and everything else arrives in its place", arguments: [100_000, 900_000])
  func whatMayBeDropped(allowed: Int) async throws {
    let received = try await receive(allowed: allowed, isSecured: false)
    #expect(received.dropped > 0)
    #expect(received.dropped <= allowed)
    #expect(received.dropped + received.read.reduce(0) { $0 + $1.bytes.count } == Self.sent.count)
    for (place, bytes) in received.read { #expect(bytes.elementsEqual(Self.sent[place..<place + bytes.count])) }
  }

  @Test("Nothing of an encrypted connection is dropped") func encrypted() async throws {
    let received = try await receive(allowed: .max, isSecured: true)
    #expect(received.dropped == 0)
    #expect(received.read.flatMap(\.bytes) == Self.sent)
  }
}

/// A handler that drops some of what arrives, and keeps the rest with its places.
private final class DroppingHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  struct Received {
    var dropped = 0
    var read: [(place: Int, bytes: [UInt8])] = []
    var place = 0
  }

  private let allowed: Int
  private let promise: EventLoopPromise<Received>
  private var drain: PayloadDrain
  private var received = Received()

  init(allowed: Int, isSecured: Bool, _ promise: EventLoopPromise<Received>) {
    self.allowed = allowed
    self.promise = promise
    drain = PayloadDrain(isSecured: isSecured)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let bytes = Array(buffer: unwrapInboundIn(data))
    received.read.append((received.place, bytes))
    received.place += bytes.count
    do {
      try drain.run(context) {
        allowed - received.dropped
      } dropped: { count in
        received.dropped += count
        received.place += count
      }
    } catch {
      errorCaught(context: context, error: error)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { promise.fail(error) }

  func channelInactive(context: ChannelHandlerContext) { promise.succeed(received) }
}
