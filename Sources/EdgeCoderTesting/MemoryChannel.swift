import Streams

@testable import EdgeCoder

/// Two ends of a channel in memory.
final class MemoryChannel: MuxChannel {
  let peer: PeerID
  let sendLimit: Int
  let receiveLimit: Int
  private let (incoming, entry) = BoundedStream.make(of: [UInt8].self, limit: 4096, policy: .dropNewest)
  private let other = Lock<BoundedStream<[UInt8]>.Source?>(nil)
  /// Every frame that was sent, for tests that look at the wire.
  let sent = Lock<[[UInt8]]>([])

  private init(limit: Int, peer: PeerID) {
    self.peer = peer
    sendLimit = limit
    receiveLimit = limit
  }

  static func pair(limit: Int = 600, peer: PeerID = PeerID("memory")) -> (MemoryChannel, MemoryChannel) {
    let (one, two) = (MemoryChannel(limit: limit, peer: peer), MemoryChannel(limit: limit, peer: peer))
    one.other.withLock { $0 = two.entry }
    two.other.withLock { $0 = one.entry }
    return (one, two)
  }

  func send(_ frame: [UInt8]) async throws {
    guard frame.count <= sendLimit else { throw LoopbackError("a frame of \(frame.count) bytes") }
    sent.withLock { $0.append(frame) }
    guard other.withLock({ $0 })?.yield(frame) == true else { throw LoopbackError("the other side takes no more") }
  }

  func receive() async throws -> [UInt8]? {
    for await frame in incoming { return frame }
    try Task.checkCancellation()
    return nil
  }

  func close() async {
    entry.finish()
    other.withLock { $0 }?.finish()
  }
}
