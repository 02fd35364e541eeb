public import Streams

extension LocalCharacteristic {
  /// A central subscribed or unsubscribed.
  ///
  /// Before BlueZ 5.69 only the first central is told of, and "unsubscribed" means that nobody is left.
  public enum SubscriptionEvent: Sendable, Hashable {
    /// Values can be sent, at most `mtu − 3` bytes to this central.
    case subscribed(Peer, mtu: Int)
    /// The central unsubscribed or went away.
    case unsubscribed(Peer)
  }

  /// Who subscribes and unsubscribes from now on.
  public func subscriptions(limit: Int = 64) -> BoundedStream<SubscriptionEvent> {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    let (stream, source) = BoundedStream.make(
      of: SubscriptionEvent.self, limit: limit,
      onTermination: { [weak self] in self?.state.withLock { $0.observers[id] = nil } })
    state.withLock { $0.observers[id] = source }
    return stream
  }

  /// Whether anybody is subscribed.
  public var isSubscribed: Bool { state.withLock { !$0.links.isEmpty } }

  /// Whether a value can be sent to one central alone: from BlueZ 5.76, over sockets.
  public var addressesOnePeer: Bool { state.withLock { $0.version?.has(.notifiesOnePeer) ?? ($0.links.count > 1) } }

  /// The most bytes every subscriber known by a socket can take: the smallest MTU − 3, at most 512; `nil` while nobody
  /// is subscribed. Longer values would be cut short without a word.
  public var longestNotification: Int? {
    state.withLock { $0.links.map(\.mtu).min().map { min($0 - 3, AttributeLimits.value) } }
  }

  /// Sends a value to everyone who is subscribed, as a notification or an indication, whichever each asked for.
  ///
  /// It waits while bluetoothd has no room. That bluetoothd took it says nothing of the radio: it queues without bound,
  /// so a sender with much to say paces itself.
  /// - Parameters:
  ///   - value: at most 512 bytes.
  ///   - timeout: how long to wait for room; a bluetoothd that works makes some within milliseconds.
  /// - Throws: ``BlueZError``: `.notConnected` when nobody is subscribed, `.timedOut`, `.invalidArgument` when it is
  ///   longer than 512 bytes or than the smallest known MTU − 3 (bluetoothd would cut it silently);
  ///   `CancellationError`.
  public func notify(_ value: [UInt8], timeout: Duration = .seconds(10)) async throws {
    while true {
      let links = try state.withLock { try recipients(of: value, in: $0) }
      let left = try await send(value, over: links, timeout: timeout)
      if left.count < links.count { return }
      // Where one socket serves all, another does once its central has left.
      for link in left { ended(link) }
    }
  }

  /// The sockets a value for everyone is written to.
  func recipients(of value: [UInt8], in state: borrowing State) throws -> [Link] {
    try check(value, for: state.links)
    guard !state.links.isEmpty else { throw nobody }
    // From 5.69 to 5.75 what is written to one socket reaches all.
    let all = state.version.map { !$0.has(.socketPerPeer) || $0.has(.notifiesOnePeer) } ?? true
    return all ? state.links : Array(state.links.prefix(1))
  }

  /// Writes a value to sockets. One central that leaves does not keep it from the others.
  /// - Returns: the numbers of those that are gone.
  func send(_ value: [UInt8], over links: [Link], timeout: Duration) async throws -> [Int] {
    var left: [Int] = []
    for link in links {
      do {
        try await link.socket.send(value, timeout: timeout)
      } catch let error as BlueZError where error.code == .notConnected {
        left.append(link.id)
      }
    }
    return left
  }

  private var nobody: BlueZError { BlueZError(.notConnected, "nobody is subscribed to \(uuid)") }

  /// Sends a value to one central.
  /// - Parameters:
  ///   - value: at most 512 bytes.
  ///   - peer: the central.
  ///   - timeout: how long to wait for room.
  /// - Throws: ``BlueZError``: `.notSupported` when this bluetoothd cannot tell subscribers apart (before 5.76),
  ///   `.notConnected` when this one is not subscribed, `.timedOut`, `.invalidArgument` as ``notify(_:timeout:)``;
  ///   `CancellationError`.
  public func notify(_ value: [UInt8], to peer: Peer, timeout: Duration = .seconds(10)) async throws {
    guard addressesOnePeer else {
      throw BlueZError(
        .notSupported, "this bluetoothd sends a notification to every subscriber, not to \(peer) alone",
        hint: "BlueZ 5.76 can; or send to all and let the centrals sort it out")
    }
    let link = try state.withLock { state -> Link? in
      guard let link = state.links.last(where: { $0.peer == peer }) else { return nil }
      try check(value, for: [link])
      return link
    }
    guard let link else { throw BlueZError(.notConnected, "\(peer) is not subscribed to \(uuid)") }
    try await link.socket.send(value, timeout: timeout)
  }

  private func check(_ value: [UInt8], for links: [Link]) throws {
    let limit = min(links.map { $0.mtu - 3 }.min() ?? AttributeLimits.value, AttributeLimits.value)
    guard value.count <= limit else {
      throw BlueZError(.invalidArgument, "\(value.count) bytes in one notification of \(uuid), which takes \(limit)")
    }
  }

  // MARK: What bluetoothd does

  /// Makes the socket of a new subscription.
  /// - Returns: the end for bluetoothd.
  func acquireNotify(_ peer: Peer, mtu: Int) throws -> FileDescriptor {
    let (ours, theirs) = try PacketSocket.pair()
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    // From 5.80 bluetoothd writes a byte for each confirmed indication; there is nothing else to read.
    let socket = try PacketSocket(
      owning: ours, onPacket: { [weak self] _ in self?.confirmed(by: id) },
      onClose: { [weak self] in self?.ended(id) })
    add(Link(id: id, peer: peer, mtu: mtu, socket: socket))
    return theirs
  }

  private func add(_ link: Link) {
    let observers = state.withLock { state in
      state.links.append(link)
      return Array(state.observers.values)
    }
    for observer in observers { observer.yield(.subscribed(link.peer, mtu: link.mtu)) }
  }

  private func ended(_ id: Int) {
    let (link, observers) = state.withLock { state -> (Link?, [BoundedStream<SubscriptionEvent>.Source]) in
      guard let index = state.links.firstIndex(where: { $0.id == id }) else { return (nil, []) }
      return (state.links.remove(at: index), Array(state.observers.values))
    }
    guard let link else { return }
    close(link, observers)
  }

  private func close(_ link: Link, _ observers: [BoundedStream<SubscriptionEvent>.Source]) {
    link.socket.close()
    state.withLock { $0.indication }?.yield(.left(link.id))
    for observer in observers { observer.yield(.unsubscribed(link.peer)) }
  }

  /// Takes everything down, because bluetoothd or the application is gone.
  func reset() {
    let (links, observers) = state.withLock { state in
      defer {
        state.links = []
        state.writeSocket = nil
      }
      return (state.links, Array(state.observers.values))
    }
    for link in links { close(link, observers) }
  }
}
