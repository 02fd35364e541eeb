internal import Logging
internal import NIOCore
internal import SpeedTest
internal import Streams
internal import Timing

/// The part of a server that its connections share: the keys, the limits and the counts.
final class ServerState: Sendable {
  private struct Connections {
    var perAddress: [[UInt8]: Int] = [:]
    var channels: [ObjectIdentifier: any Channel] = [:]
    var statistics = SpeedTestServer.Statistics()
    var isStopped = false
  }

  /// A Boolean value that indicates whether every client is admitted.
  let isOpen: Bool
  private let options: SpeedTestServer.Options
  private let logger: Logger
  private let pings: PingResponder
  private let connections = Lock(Connections())

  init(_ options: SpeedTestServer.Options, logger: Logger) {
    self.options = options
    self.logger = logger
    let keys: [SpeedTestKey]? = if case .keys(let keys) = options.access { keys } else { nil }
    isOpen = keys == nil
    pings = PingResponder(keys: keys)
  }

  var statistics: SpeedTestServer.Statistics { connections.withLock { $0.statistics } }

  /// Returns `true` if a new connection stays within the limits; it counts until it is closed.
  func admit(_ channel: any Channel) -> Bool {
    let address = Sockets.network(of: channel.remoteAddress)
    let isAdmitted = connections.withLock { state in
      let sameAddress = state.perAddress[address, default: 0]
      guard !state.isStopped, state.channels.count < options.connectionLimit,
        sameAddress < options.connectionsPerAddress
      else {
        state.statistics.refused += 1
        return false
      }
      state.perAddress[address] = sameAddress + 1
      state.channels[ObjectIdentifier(channel)] = channel
      state.statistics.accepted += 1
      state.statistics.open += 1
      return true
    }
    guard isAdmitted else {
      logger.debug("refused a connection", metadata: ["from": "\(Sockets.text(of: channel.remoteAddress))"])
      return false
    }
    channel.closeFuture.whenComplete { _ in self.closed(channel, address) }
    return true
  }

  private func closed(_ channel: any Channel, _ address: [UInt8]) {
    connections.withLock { state in
      guard state.channels.removeValue(forKey: ObjectIdentifier(channel)) != nil else { return }
      state.statistics.open -= 1
      let others = state.perAddress[address, default: 1] - 1
      state.perAddress[address] = others > 0 ? others : nil
    }
  }

  /// Refuses new connections from now on and returns those that are open.
  func stop() -> [any Channel] {
    connections.withLock { state in
      state.isStopped = true
      return Array(state.channels.values)
    }
  }

  /// Returns the verdict on a token; an open server accepts every token.
  func verify(_ token: String, from address: SocketAddress?) -> TokenVerdict {
    guard case .keys(let keys) = options.access else { return .accepted(delay: .zero) }
    let verdict = SpeedTestToken.verify(
      token, keys: keys, seconds: WallClock.unixMilliseconds() / 1000, address: Sockets.bytes(of: address) ?? [])
    if verdict == .rejected {
      connections.withLock { $0.statistics.rejectedTokens += 1 }
      logger.info("rejected a token", metadata: ["from": "\(Sockets.text(of: address))"])
    }
    return verdict
  }

  /// Adds to the bytes that were transferred.
  func count(sent: Int = 0, received: Int = 0) {
    connections.withLock { state in
      state.statistics.sentBytes &+= UInt64(sent)
      state.statistics.receivedBytes &+= UInt64(received)
    }
  }

  /// Returns the reply to a datagram; `nil` if it gets none.
  func reply(to datagram: [UInt8], from address: SocketAddress) -> [UInt8]? {
    let answer = pings.answer(
      to: datagram, from: Sockets.bytes(of: address) ?? [], seconds: WallClock.unixMilliseconds() / 1000)
    return connections.withLock { state in
      switch answer {
      case .reply(let bytes):
        state.statistics.pings += 1
        return bytes
      case .refusal(let bytes):
        state.statistics.refusedPings += 1
        return bytes
      case .none:
        state.statistics.ignoredPings += 1
        return nil
      }
    }
  }

  func failed(_ error: any Error, from address: SocketAddress?) {
    logger.debug("a connection failed", metadata: ["from": "\(Sockets.text(of: address))", "error": "\(error)"])
  }
}
