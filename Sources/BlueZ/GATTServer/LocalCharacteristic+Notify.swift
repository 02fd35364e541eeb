public import Streams

extension LocalCharacteristic {
  /// A central that subscribed or unsubscribed.
  ///
  /// Before BlueZ 5.69 only the first central is reported, and "unsubscribed" means that there are no subscribers left.
  public enum SubscriptionEvent: Sendable, Hashable {
    /// The central is now subscribed. Values for it may have at most `mtu − 3` bytes.
    case subscribed(Peer, mtu: Int)
    /// The central unsubscribed or disconnected.
    case unsubscribed(Peer)
  }

  /// Returns the subscriptions that start and end from now on.
  ///
  /// ```swift
  /// let pulse = LocalCharacteristic("2a37", .notify)
  /// for await case .subscribed(let peer, let mtu) in pulse.subscriptions() { print(peer, "takes", mtu - 3, "bytes") }
  /// ```
  /// - Parameter limit: The capacity of the stream; when it is full the oldest events are dropped.
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

  /// A Boolean value that indicates whether there are subscribers.
  public var isSubscribed: Bool { state.withLock { !$0.links.isEmpty } }

  /// A Boolean value that indicates whether a value can be sent to one central alone: from BlueZ 5.76 on, over sockets.
  public var addressesOnePeer: Bool { state.withLock { $0.version?.has(.notifiesOnePeer) ?? ($0.links.count > 1) } }

  /// The largest length of a value that every subscriber with a known MTU receives whole, in bytes: the smallest MTU −
  /// 3, at most 512; `nil` without subscribers. Longer values would be truncated silently.
  public var longestNotification: Int? {
    state.withLock { $0.links.map(\.mtu).min().map { min($0 - 3, AttributeLimits.value) } }
  }

  /// Sends a value to all subscribers, as a notification or an indication, according to each subscription.
  ///
  /// This method waits while the socket to bluetoothd is full. A return does not mean that the value was sent over the
  /// air: bluetoothd queues without limit, so a program that sends much must limit its own rate.
  /// - Parameters:
  ///   - value: The value, at most 512 bytes.
  ///   - timeout: The longest time to wait for free space; a bluetoothd that works frees some within milliseconds.
  /// - Throws: ``BlueZError``: `.notConnected` without subscribers, `.timedOut`, `.invalidArgument` when the value is
  ///   longer than 512 bytes or than the smallest known MTU − 3 (bluetoothd would truncate it silently);
  ///   `CancellationError`.
  public func notify(_ value: [UInt8], timeout: Duration = .seconds(10)) async throws {
    while true {
      let links = try state.withLock { try recipients(of: value, in: $0) }
      let left = try await send(value, over: links, timeout: timeout)
      if left.count < links.count { return }
      // Where one socket serves all centrals, another takes over when its central has left.
      for link in left { ended(link) }
    }
  }

  /// Returns the sockets to which a value for all subscribers is written.
  func recipients(of value: [UInt8], in state: borrowing State) throws -> [Link] {
    try check(value, for: state.links)
    guard !state.links.isEmpty else { throw nobody }
    // From 5.69 to 5.75 a value that is written to one socket reaches all centrals.
    let all = state.version.map { !$0.has(.socketPerPeer) || $0.has(.notifiesOnePeer) } ?? true
    return all ? state.links : Array(state.links.prefix(1))
  }

  /// Writes a value to sockets. A central that disconnects does not prevent the others from receiving it.
  /// - Returns: The identifiers of the sockets that are closed.
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

  private var nobody: BlueZError { BlueZError(.notConnected, "\(uuid) has no subscribers") }

  /// Sends a value to one central.
  /// - Parameters:
  ///   - value: The value, at most 512 bytes.
  ///   - peer: The central to send the value to.
  ///   - timeout: The longest time to wait for free space.
  /// - Throws: ``BlueZError``: `.notSupported` when this bluetoothd cannot distinguish subscribers (before 5.76),
  ///   `.notConnected` when the central is not subscribed, `.timedOut`, `.invalidArgument` as in
  ///   ``notify(_:timeout:)``; `CancellationError`.
  public func notify(_ value: [UInt8], to peer: Peer, timeout: Duration = .seconds(10)) async throws {
    guard addressesOnePeer else {
      throw BlueZError(
        .notSupported, "this bluetoothd sends a notification to every subscriber, not to \(peer) alone",
        hint: "use BlueZ 5.76, or send to all subscribers")
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
      throw BlueZError(
        .invalidArgument, "the notification of \(uuid) has \(value.count) bytes; allowed: at most \(limit)")
    }
  }

  // MARK: Calls of bluetoothd

  /// Creates the socket of a new subscription.
  /// - Returns: The end for bluetoothd.
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

  /// Closes all sockets, because bluetoothd or the application is gone.
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
