import Streams

extension RemoteCharacteristic {
  /// The way in which bluetoothd delivers notifications to the program.
  public enum NotificationPath: Sendable, Hashable {
    /// A socket where bluetoothd provides one, otherwise changes of the property `Value`: for indications before BlueZ
    /// 5.80.
    case automatic
    /// Changes of the property `Value`: several times the cost for each value, but several programs can subscribe, and
    /// a value that the peer sends before it responds to the subscription is not missed. bluetoothd signals the same
    /// change after every read by any program, so values that were read appear among those that were sent.
    case property
  }

  /// Subscribes to notifications or indications, and returns the values that the peer sends from now on.
  ///
  /// When this method returns, the peer has accepted the subscription and its values arrive here. On the socket,
  /// bluetoothd drops a value that the peer sends before it accepts the subscription, against the Core Specification's
  /// order. Indications are confirmed by bluetoothd when they arrive, not when they are read here.
  ///
  /// ```swift
  /// for try await value in try await characteristic.notifications() { print(value) }
  /// ```
  /// - Parameters:
  ///   - limit: The largest number of values that wait for the consumer; memory is used only for those that do.
  ///   - overflow: The policy for values that exceed the limit.
  ///   - path: The way in which bluetoothd delivers the values.
  /// - Throws: ``BlueZError``: `.notSupported` when the characteristic sends nothing, `.inProgress` when a client on
  ///   this host holds its socket already, `.notPermitted` when the peer requires pairing, `.attributeError`,
  ///   `.notConnected`, `.staleHandle`, `.timedOut`.
  public func notifications(
    limit: Int = 4096, overflow: Notifications.Overflow = .fail, path: NotificationPath = .automatic
  ) async throws -> Notifications {
    try check()
    guard !flags.isDisjoint(with: [.notify, .indicate]) else {
      throw BlueZError(.notSupported, "\(uuid) sends no notifications")
    }
    if path == .automatic {
      do {
        return try await socketNotifications(limit, overflow)
      } catch let error as BlueZError where error.code == .notSupported {
        // bluetoothd provides no socket for this one; the property always works.
      }
    }
    return try await propertyNotifications(limit, overflow)
  }

  private func socketNotifications(_ limit: Int, _ overflow: Notifications.Overflow) async throws -> Notifications {
    let acquired = ClosedSockets.Socket.subscription(of: path)
    let (descriptor, _) = try await acquire("AcquireNotify", acquired)
    let socket = Lock<PacketSocket?>(nil)
    let ending = Lock<Int?>(nil)
    let core = device.core
    let (notifications, source) = Notifications.make(
      of: uuid, limit: limit, overflow: overflow,
      onTermination: {
        if let id = ending.withLock({ $0 }) { core.stopObserving(id) }
        core.state.withLock { $0.closedSockets.note(acquired) }
        socket.withLock { $0 = nil }
      })
    let opened = try PacketSocket(
      owning: descriptor, onPacket: { source.yield($0) }, onBurst: { source.wake() }, onClose: { source.finish() })
    socket.withLock { $0 = opened }
    let id = core.onClose { source.finish() }
    ending.withLock { $0 = id }
    return notifications
  }

  private func propertyNotifications(_ limit: Int, _ overflow: Notifications.Overflow) async throws -> Notifications {
    let core = device.core
    let path = path
    let device = device
    let observer = Lock<Int?>(nil)
    let (notifications, source) = Notifications.make(
      of: uuid, limit: limit, overflow: overflow,
      onTermination: {
        if let id = observer.withLock({ $0 }) { core.stopObserving(id) }
        core.callInBackground(path, Self.interface, "StopNotify", doing: "unsubscribing")
      })
    let id = core.observe { change in
      switch change {
      case .changed(path, Self.interface, let changed, _):
        guard let value = changed["Value"]?.bytes else { break }
        source.yield(value)
        source.wake()
      case .changed(device.path, Device.interface, let changed, _) where changed["Connected"]?.bool == false:
        source.finish()
      case .removed(path, _), .serviceDown: source.finish()
      default: break
      }
    }
    observer.withLock { $0 = id }
    do {
      try await core.callPeer(
        .init(path, Self.interface, "StartNotify"), [], timeout: .seconds(35), doing: "subscribing to \(uuid)")
    } catch {
      source.finish()
      throw error
    }
    return notifications
  }
}
