import BlueZ
import EdgeCoder
import MessageSending
import Streams

/// The relay's end: advertises, and takes messages of the peers that its user has paired.
struct RelayListener: Sendable {
  let adapter: Adapter
  let relay: MessageRelay
  let control: AccessControl
  let onAnswer: @Sendable (RelayAnswer?) -> Void
  /// Listens at the kernel with a security level; tests without a kernel's Bluetooth replace it.
  var listen: @Sendable (Adapter, UInt16, SecurityLevel) throws -> any RelayChannels = {
    try $0.listen(psm: $1, security: $2, mtu: L2CAPRelayChannel.longestPacket)
  }
  private let open = Lock(0)

  /// The largest number of channels that are answered at the same time.
  static let channelLimit = 16

  init(
    adapter: Adapter, relay: MessageRelay, control: AccessControl, onAnswer: @escaping @Sendable (RelayAnswer?) -> Void
  ) {
    self.adapter = adapter
    self.relay = relay
    self.control = control
    self.onAnswer = onAnswer
  }

  /// Listens until the task is cancelled.
  /// - Throws: `BlueZError` when the PSM is in use, or nothing can be advertised.
  func run(psm: UInt16, onListening: @Sendable () -> Void) async throws {
    // It ends connections of strangers, and admissions that another bond takes over, from before anybody can connect.
    let watch = control.watch()
    let listener = try listen(adapter, psm, control.policy.securityLevel)
    defer { listener.close() }
    let advertisement = try await adapter.advertise(.init(services: [L2CAPRelayChannel.service]))
    onListening()
    do {
      try await withThrowingDiscardingTaskGroup { group in
        group.addTask { await watch.run() }
        try await accept(from: listener, in: &group)
      }
    } catch {
      try await Self.stop(advertisement)
      throw error
    }
    try await Self.stop(advertisement)
  }

  private func accept(
    from listener: any RelayChannels, in group: inout ThrowingDiscardingTaskGroup<any Error>
  ) async throws {
    while !Task.isCancelled {
      do {
        guard let (channel, peer) = try await listener.next() else { return }
        group.addTask { await take(channel, from: peer) }
      } catch is BlueZError {
        // One channel could not be accepted, for example with too many open files: its sender sees it close.
      }
    }
  }

  /// Answers one channel, or closes it without a word if its peer is not admitted, or if too many are open.
  func take(_ channel: some RelayChannel, from peer: Peer) async {
    guard enter() else { return await channel.close() }
    defer { open.withLock { $0 -= 1 } }
    do {
      try control.check(peer)
    } catch {
      return await channel.close()
    }
    onAnswer(await relay.answer(channel, of: "\(peer)"))
  }

  /// Takes one of the places for channels, if there is one.
  private func enter() -> Bool {
    open.withLock { open in
      guard open < Self.channelLimit else { return false }
      open += 1
      return true
    }
  }

  /// Ends the advertisement, also in a task that is cancelled.
  private static func stop(_ advertisement: Advertisement) async throws {
    try await Task { try await advertisement.stop() }.value
  }
}

/// The channels that senders open at a relay.
protocol RelayChannels: Sendable {
  /// Returns the next channel and its peer; `nil` when there will be no more.
  /// - Throws: `BlueZError` when one channel could not be accepted; `CancellationError`.
  func next() async throws -> (channel: any RelayChannel, peer: Peer)?
  /// Ends the listening.
  func close()
}

extension L2CAPListener: RelayChannels {
  func next() async throws -> (channel: any RelayChannel, peer: Peer)? {
    var channels = makeAsyncIterator()
    return try await channels.next().map { (L2CAPRelayChannel(channel: $0), $0.peer) }
  }
}

extension L2CAPRelayChannel {
  /// The longest packet of either side.
  static let longestPacket = RelayPacket.byteCount
}
