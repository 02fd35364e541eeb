internal import NIOCore
internal import NIOSSL
internal import SpeedTest
internal import Streams

/// A connection that is made, and its handler.
struct ClientLink: Sendable {
  var channel: any Channel
  var handler: NIOLoopBound<ClientHandler>
}

/// The connections of one test: every channel that was opened, until it is closed.
final class ClientConnections: Sendable {
  private struct State {
    var channels: [any Channel] = []
    var links: [Int: ClientLink] = [:]
    var info: SpeedTestConnectionInfo?
    var isOver = false
  }

  private let state = Lock(State())
  let meter: SpeedTestMeter
  let report: @Sendable (SpeedTestMachine.Event) -> Void

  init(meter: SpeedTestMeter, report: @escaping @Sendable (SpeedTestMachine.Event) -> Void) {
    self.meter = meter
    self.report = report
  }

  /// The description of the connections, as soon as one is authorised.
  var info: SpeedTestConnectionInfo? { state.withLock { $0.info } }

  /// Registers a channel before it connects; returns `false` when the test is over.
  func register(_ channel: any Channel) -> Bool {
    state.withLock { state in
      if !state.isOver { state.channels.append(channel) }
      return !state.isOver
    }
  }

  func opened(_ index: Int, _ link: ClientLink) {
    state.withLock { $0.links[index] = link }
  }

  func describe(_ channel: (any Channel)?, serverVersion: String) {
    guard let channel, info == nil else { return }
    // Without TLS there is no such handler.
    let handler = try? channel.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
    var info = SpeedTestConnectionInfo(
      serverAddress: Sockets.text(of: channel.remoteAddress), localAddress: Sockets.text(of: channel.localAddress),
      serverVersion: serverVersion)
    info.interface = Sockets.interface(with: channel.localAddress)
    info.tlsVersion = handler?.tlsVersion.map(Self.name)
    info.cipher = (try? channel.pipeline.syncOperations.handler(type: CipherReader.self))?.cipher
    state.withLock { $0.info = info }
  }

  /// The name of a version of TLS as control servers know it.
  private static func name(of version: TLSVersion) -> String {
    switch version {
    case .tlsv13: "TLSv1.3"
    case .tlsv12: "TLSv1.2"
    default: "\(version)"
    }
  }

  func run(_ exchange: Exchange, on index: Int) {
    guard let link = state.withLock({ $0.links[index] }) else { return }
    link.channel.eventLoop.execute { link.handler.value.start(exchange) }
  }

  func close(_ index: Int) {
    guard let link = state.withLock({ $0.links.removeValue(forKey: index) }) else { return }
    link.channel.eventLoop.execute { link.handler.value.close() }
  }

  /// Closes what is still open, and waits until every channel is closed.
  func closeAll() async {
    let channels = state.withLock { state in
      state.isOver = true
      return state.channels
    }
    for channel in channels {
      channel.close(promise: nil)
      // A channel that never connected fails its close; it is closed all the same.
      _ = try? await channel.closeFuture.get()
    }
  }
}

/// The ends of a test's connections.
public struct SpeedTestConnectionInfo: Sendable, Hashable {
  /// The address of the server.
  public var serverAddress: String
  /// The address of this machine on the way to the server.
  public var localAddress: String
  /// The version in the server's greeting.
  public var serverVersion: String
  /// The interface of this machine that has the local address; `nil` if there is none.
  public var interface: String?
  /// The version of TLS, such as `TLSv1.3`; `nil` for plain TCP.
  public var tlsVersion: String?
  /// The cipher suite of TLS, such as `TLS_AES_128_GCM_SHA256`; `nil` for plain TCP.
  public var cipher: String?
}
