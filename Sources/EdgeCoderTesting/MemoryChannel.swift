public import EdgeCoder
public import Streams

/// One end of a mux channel in memory.
///
/// ```swift
/// let (near, far) = MemoryChannel.pair()
/// try await near.send([1, 2, 3])
/// print(try await far.receive() ?? [])  // [1, 2, 3]
/// ```
public final class MemoryChannel: MuxChannel {
  /// The peer that the channel reports.
  public let peer: PeerID
  /// The limit on a frame to send, in bytes.
  public let sendLimit: Int
  /// The limit on a frame to receive, in bytes.
  public let receiveLimit: Int
  private let (incoming, entry) = BoundedStream.make(of: [UInt8].self, limit: 4096, policy: .dropNewest)
  private let other = Lock<BoundedStream<[UInt8]>.Source?>(nil)
  /// The frames that this end has sent.
  public let sent = Lock<[[UInt8]]>([])

  private init(limit: Int, peer: PeerID) {
    self.peer = peer
    sendLimit = limit
    receiveLimit = limit
  }

  /// Returns the two ends of a channel with the given frame limit in bytes.
  public static func pair(limit: Int = 600, peer: PeerID = PeerID("memory")) -> (MemoryChannel, MemoryChannel) {
    let one = MemoryChannel(limit: limit, peer: peer)
    let two = MemoryChannel(limit: limit, peer: peer)
    one.other.withLock { $0 = two.entry }
    two.other.withLock { $0 = one.entry }
    return (one, two)
  }

  /// Sends a frame to the other end.
  /// - Throws: ``LoopbackError`` for a frame over the limit, and when the other end is closed.
  public func send(_ frame: [UInt8]) async throws {
    guard frame.count <= sendLimit else { throw LoopbackError("a frame of \(frame.count) bytes") }
    sent.withLock { $0.append(frame) }
    guard other.withLock({ $0 })?.yield(frame) == true else { throw LoopbackError("the other end is closed") }
  }

  /// Returns the next frame; `nil` when the channel was closed.
  public func receive() async throws -> [UInt8]? {
    for await frame in incoming { return frame }
    try Task.checkCancellation()
    return nil
  }

  /// Closes both ends of the channel.
  public func close() async {
    entry.finish()
    other.withLock { $0 }?.finish()
  }
}
