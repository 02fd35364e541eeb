import Streams

@testable import MessageSending

/// One end of a channel in memory, between a sender and a relay.
final class MemoryChannel: RelayChannel {
  private let incoming: BoundedStream<[UInt8]>
  private let outgoing: BoundedStream<[UInt8]>.Source
  /// The packets that this end has sent.
  let sent = Lock<[[UInt8]]>([])
  private let isLost: Bool

  private init(_ incoming: BoundedStream<[UInt8]>, _ outgoing: BoundedStream<[UInt8]>.Source, isLost: Bool) {
    self.incoming = incoming
    self.outgoing = outgoing
    self.isLost = isLost
  }

  /// Returns both ends.
  /// - Parameter losesAnswers: Whether the relay's end loses what it sends, as when the connection breaks.
  static func pair(losesAnswers: Bool = false) -> (sender: MemoryChannel, relay: MemoryChannel) {
    let (toRelay, fromSender) = BoundedStream.make(of: [UInt8].self, limit: 8)
    let (toSender, fromRelay) = BoundedStream.make(of: [UInt8].self, limit: 8)
    return (
      MemoryChannel(toSender, fromSender, isLost: false), MemoryChannel(toRelay, fromRelay, isLost: losesAnswers)
    )
  }

  func send(_ packet: [UInt8]) async throws {
    if isLost { throw MessageSendingError(.notSent, "the connection is lost") }
    sent.withLock { $0.append(packet) }
    outgoing.yield(packet)
  }

  func receive() async throws -> [UInt8]? {
    var packets = incoming.makeAsyncIterator()
    let packet = await packets.next()
    try Task.checkCancellation()
    return packet
  }

  func close() async { outgoing.finish() }
}

/// A relay near by, and the transport of a sender that uses it.
struct MemoryRelay: Sendable {
  let relay: MessageRelay
  let answers = Lock<[RelayAnswer?]>([])
  let packets = Lock<[[UInt8]]>([])
  let losesAnswers = Lock(false)

  init(_ queue: RelayQueue) { relay = MessageRelay(queue) }

  var transport: RelayTransport {
    RelayTransport { [self] in
      let (sender, far) = MemoryChannel.pair(losesAnswers: losesAnswers.withLock { $0 })
      Task {
        let answer = await relay.answer(far, of: "a sender")
        answers.withLock { $0.append(answer) }
        packets.withLock { $0 += sender.sent.withLock { $0 } }
      }
      return sender
    }
  }
}
