import DBus
import Streams

extension RemoteCharacteristic {
  /// How bluetoothd hands notifications over.
  public enum NotificationPath: Sendable, Hashable {
    /// A socket where bluetoothd gives one, changes of the property `Value` where not: indications before BlueZ 5.80.
    case automatic
    /// Changes of the property `Value`: several times the work for each value, but several programs may listen, and a
    /// value that the peer sends before it answers the subscription is not missed. bluetoothd signals the same change
    /// after every read, by anyone: values read appear among those sent.
    case property
  }

  /// Subscribes to notifications or indications, and returns the values the peer sends from now on.
  ///
  /// When this returns the peer has been told and its values arrive here. What it sends once it has answered is not
  /// missed; what it sends before that, against the Core Specification's order, is dropped by bluetoothd on the socket.
  /// Indications are confirmed by bluetoothd when they arrive, not when they are read here.
  ///
  /// ```swift
  /// for try await value in try await pulse.notifications() { print(value) }
  /// ```
  /// - Parameters:
  ///   - limit: how many values may wait for the reader; memory is used only for those that do.
  ///   - overflow: what happens beyond that.
  ///   - path: how bluetoothd hands them over.
  /// - Throws: ``BlueZError``: `.notSupported` when the characteristic sends nothing, `.inProgress` when somebody in
  ///   this machine holds its socket already, `.notPermitted` when the peer wants a paired link, `.attributeError`,
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
        // No socket for this one; the other way always works.
      }
    }
    return try await propertyNotifications(limit, overflow)
  }

  private func socketNotifications(_ limit: Int, _ overflow: Notifications.Overflow) async throws -> Notifications {
    let (descriptor, _) = try await acquire("AcquireNotify")
    let socket = Lock<PacketSocket?>(nil)
    let (notifications, source) = Notifications.make(
      of: uuid, limit: limit, overflow: overflow, onTermination: { socket.withLock { $0 = nil } })
    let opened = try PacketSocket(
      owning: descriptor, onPacket: { source.yield($0) }, onBurst: { source.wake() }, onClose: { source.finish() })
    socket.withLock { $0 = opened }
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
      try await core.call(path, Self.interface, "StartNotify", timeout: .seconds(35), doing: "subscribing to \(uuid)")
    } catch {
      source.finish()
      throw error
    }
    return notifications
  }
}
