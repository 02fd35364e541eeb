internal import NIOCore
internal import Streams

/// The open connections of a client that uploads, and their congestion controls.
///
/// One connection uses a line that loses packets with BBR: CUBIC takes every lost one for congestion, and then uses a tenth
/// of a line with 5 % of loss. But every ten seconds BBR sends no more than four packets in a round trip, to measure the
/// latency: where that is 2 s, an eighth of the line is not used, with several connections, too. Together they use it with
/// CUBIC, until few are left.
final class UploadConnections: Sendable {
  /// The round trip from which on it is long: 1 s.
  static let longRoundTrip = Duration.seconds(1)
  /// The number of connections from which on they use a line with CUBIC: 6, whose shares fill 512 kbit/s at 2 s and 5 %.
  static let manyConnections = 6

  /// The open ones with a long round trip.
  private let distant = Lock<[ObjectIdentifier: any Channel]>([:])

  /// Chooses the congestion control of a new connection by the round trip that opened it, and that of the others with it.
  func add(_ channel: any Channel) -> EventLoopFuture<Void> {
    UploadSocket.roundTrip(of: channel).flatMap { roundTrip in
      self.add(channel, roundTrip: roundTrip ?? .zero)
    }
  }

  /// Adds a connection whose round trip is known.
  func add(_ channel: any Channel, roundTrip: Duration) -> EventLoopFuture<Void> {
    guard roundTrip >= Self.longRoundTrip else { return UploadSocket.choose(.bbr, for: channel) }
    distant.withLock { $0[ObjectIdentifier(channel)] = channel }
    channel.closeFuture.whenComplete { _ in
      self.distant.withLock { $0[ObjectIdentifier(channel)] = nil }
      _ = self.chooseAnew()
    }
    return EventLoopFuture.andAllComplete(chooseAnew(), on: channel.eventLoop)
  }

  /// Has the kernel use what the number of connections calls for; it leaves alone those that use it.
  private func chooseAnew() -> [EventLoopFuture<Void>] {
    let channels = distant.withLock { Array($0.values) }
    let control: UploadSocket.Control = channels.count < Self.manyConnections ? .bbr : .cubic
    return channels.map { UploadSocket.choose(control, for: $0) }
  }
}
