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
    return EventLoopFuture.andAllComplete(futures + [marks], on: channel.eventLoop)
  }

  /// A congestion control of TCP.
  enum Control: String {
    case bbr, cubic

    /// The name, as the kernel takes it: with zeros at its end.
    var bytes: UInt64 { UInt64(littleEndian: rawValue.utf8.reversed().reduce(0) { $0 << 8 | UInt64($1) }) }
  }

  /// Returns the round trip of a connection, as the kernel has measured it so far; `nil` for one without a socket.
  static func roundTrip(of channel: any Channel) -> EventLoopFuture<Duration?> {
    guard let connection = channel as? any SocketOptionProvider else {
      return channel.eventLoop.makeSucceededFuture(nil)
    }
    return connection.getTCPInfo().map { .microseconds(Int64($0.tcpi_rtt)) }
  }

  /// Chooses a congestion control; fails where the kernel does not have it.
  static func choose(_ control: Control, for channel: any Channel) -> EventLoopFuture<Void> {
    guard let connection = channel as? any SocketOptionProvider else {
      return channel.eventLoop.makeSucceededVoidFuture()
    }
    return connection.unsafeSetSocketOption(level: .tcp, name: .init(rawValue: TCP_CONGESTION), value: control.bytes)
  }
}
