internal import Streams
public import Timing

/// The receiving side of a relay: stores what admitted peers bring, and acknowledges it once it is on disk.
///
/// What it passes on, and when, is up to a ``MessageSender`` of the same queue, and does not depend on what comes.
///
/// ```swift
/// func serve(_ channels: [any RelayChannel], _ queue: RelayQueue) async {
///   let relay = MessageRelay(queue)
///   for channel in channels { await relay.answer(channel, of: "a peer") }
/// }
/// ```
public final class MessageRelay: Sendable {
  /// The number of messages that one peer may bring at once; it regains one every ``interval``.
  public static let burst = 20
  /// The interval at which a peer may bring one more message, 3 minutes: ten times as often as its schedule sends.
  public static let interval = Duration.seconds(180)
  /// The time within which a peer has to send its packet, and to take the answer: 30 s each.
  public static let patience = Duration.seconds(30)
  /// The number of peers that are remembered; beyond it, those that may bring the most are forgotten.
  private static let peerLimit = 256

  private let queue: RelayQueue
  private let time: TimeSource
  /// The instant at which each peer may bring ``burst`` messages again.
  private let peers = Lock<[String: Duration]>([:])

  /// Creates a relay of a queue.
  public init(_ queue: RelayQueue, time: TimeSource = .continuous) {
    self.queue = queue
    self.time = time
  }

  /// Receives one packet on a channel, stores its message, answers, and closes the channel.
  /// - Parameters:
  ///   - channel: The channel of a peer that was admitted.
  ///   - peer: The peer's identity, for its limit.
  /// - Returns: The answer that was sent, or attempted; `nil` if the peer sent nothing in time.
  @discardableResult public func answer(_ channel: some RelayChannel, of peer: String) async -> RelayAnswer? {
    let answer = await exchange(on: channel, peer)
    await channel.close()
    return answer
  }

  private func exchange(on channel: some RelayChannel, _ peer: String) async -> RelayAnswer? {
    let late = MessageSendingError(.notSent, "the peer is silent")
    do {
      let packet = try await time.withLimit(Self.patience, orThrow: late) { try await channel.receive() }
      guard let packet else { return nil }
      let answer = store(packet, of: peer)
      do {
        try await time.withLimit(Self.patience, orThrow: late) { try await channel.send(answer.bytes) }
      } catch {
        // The peer does not know that the message is stored, and sends it again.
      }
      return answer
    } catch {
      return nil  // The peer is gone, silent, or the relay stops.
    }
  }

  private func store(_ packet: [UInt8], of peer: String) -> RelayAnswer {
    guard permits(peer) else { return .refused }
    let message: SealedMessage
    do throws(MessageSendingError) { message = try RelayPacket.decode(packet) } catch { return .malformed }
    do throws(MessageSendingError) { try queue.append(message) } catch { return .refused }
    return .stored
  }

  /// Takes one of the peer's permits, if there is one.
  private func permits(_ peer: String) -> Bool {
    let now = time.now
    return peers.withLock { peers in
      peers = peers.filter { $0.value > now }
      if peers.count >= Self.peerLimit, peers[peer] == nil, let freest = peers.min(by: { $0.value < $1.value }) {
        peers[freest.key] = nil
      }
      let full = max(peers[peer] ?? now, now) + Self.interval
      guard full - now <= Self.interval * Self.burst else { return false }
      peers[peer] = full
      return true
    }
  }
}
