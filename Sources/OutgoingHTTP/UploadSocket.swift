internal import Glibc
internal import NIOCore

/// The options of a connection that files are uploaded through.
///
/// By itself the kernel takes megabytes in advance, and a sender cannot tell a slow line from one that stands still: the
/// last bytes of a part wait in the kernel for minutes. With these options it takes hardly more than what is on its way,
/// and ends the connection if the peer acknowledges nothing.
enum UploadSocket {
  /// The bytes that may wait in the kernel and are not on their way yet (`TCP_NOTSENT_LOWAT`): 64 KiB.
  static let unsentLimit = 64 << 10

  /// The bytes below which more of a body is asked for, and above which no more is: 48 and 64 KiB. Close together, so that
  /// a body that is asked for more shows that the line moves.
  static let waiting = ChannelOptions.Types.WriteBufferWaterMark(low: 48 << 10, high: 64 << 10)

  /// Sets the options of a connection; what a kernel does not support stays as it is.
  /// - Parameter limit: The time after which a connection ends whose peer acknowledges nothing (`TCP_USER_TIMEOUT`).
  static func prepare(_ channel: any Channel, limit: Duration) -> EventLoopFuture<Void> {
    let timeout = Int(limit.components.seconds * 1000)
    let options: [(CInt, Int)] = [(TCP_NOTSENT_LOWAT, unsentLimit), (TCP_USER_TIMEOUT, timeout)]
    let futures = options.map { name, value in
      channel.setOption(ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: name)), value: value)
    }
    let marks = channel.setOption(.writeBufferWaterMark, value: waiting)
    return EventLoopFuture.andAllComplete(futures + [marks, useBBR(channel)], on: channel.eventLoop)
  }

  /// Chooses BBR where the kernel has it: the default takes every packet lost on the air for congestion, and then uses a
  /// tenth of a line with 5 % of loss.
  private static func useBBR(_ channel: any Channel) -> EventLoopFuture<Void> {
    guard let provider = channel as? any SocketOptionProvider else {
      return channel.eventLoop.makeSucceededVoidFuture()
    }
    // The four bytes "bbr\0".
    let name = UInt32(littleEndian: 0x0072_6262)
    return provider.unsafeSetSocketOption(level: .tcp, name: .init(rawValue: TCP_CONGESTION), value: name)
  }
}
