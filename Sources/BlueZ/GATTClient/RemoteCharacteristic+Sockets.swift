public import DBus

extension RemoteCharacteristic {
  /// Subscribes, and returns the values the peer sends from now on.
  ///
  /// When this returns the peer has been told and its values arrive here. Where bluetoothd gives a socket it is read
  /// by a thread of its own, so that nothing is lost however slow the reader is, up to `limit` values; beyond that
  /// ``BoundedStream/dropped`` counts. The stream ends when the link does, or when the reader stops, which
  /// unsubscribes.
  /// - Parameters:
  ///   - limit: how many values may wait for the reader.
  ///   - policy: what goes when there is no room.
  /// - Throws: ``BlueZError``: `.notSupported` when the characteristic sends nothing, `.inProgress` when somebody in
  ///   this machine holds its socket already, `.attributeError`, `.notConnected`, `.staleHandle`.
  public func notifications(
    limit: Int = 4096, policy: BoundedStream<[UInt8]>.Policy = .dropNewest
  ) async throws -> BoundedStream<[UInt8]> {
    try check()
    guard !flags.isDisjoint(with: [.notify, .indicate]) else {
      throw BlueZError(.notSupported, "\(uuid) sends no notifications")
    }
    // BlueZ before 5.80 gives no socket for indications.
    if flags.contains(.notify) {
      do {
        return try await socketNotifications(limit, policy)
      } catch let error as BlueZError where error.code == .notSupported {
        // An older or smaller bluetoothd; the other way always works.
      }
    }
    return try await propertyNotifications(limit, policy)
  }

  private func socketNotifications(
    _ limit: Int, _ policy: BoundedStream<[UInt8]>.Policy
  ) async throws -> BoundedStream<[UInt8]> {
    let (descriptor, _) = try await acquire("AcquireNotify")
    let socket = Lock<PacketSocket?>(nil)
    let (stream, source) = BoundedStream.make(
      of: [UInt8].self, limit: limit, policy: policy,
      onTermination: { socket.withLock { $0 = nil } })
    let opened = try PacketSocket(owning: descriptor, onPacket: { source.yield($0) }, onClose: { source.finish() })
    socket.withLock { $0 = opened }
    return stream
  }

  private func propertyNotifications(
    _ limit: Int, _ policy: BoundedStream<[UInt8]>.Policy
  ) async throws -> BoundedStream<[UInt8]> {
    let (core, path, device) = (device.core, path, device)
    let observer = Lock<Int?>(nil)
    let (stream, source) = BoundedStream.make(
      of: [UInt8].self, limit: limit, policy: policy,
      onTermination: {
        if let id = observer.withLock({ $0 }) { core.stopObserving(id) }
        core.callInBackground(path, Self.interface, "StopNotify", doing: "unsubscribing")
      })
    let id = core.observe { change in
      switch change {
      case .changed(path, Self.interface, let changed, _):
        if let value = changed["Value"]?.bytes { source.yield(value) }
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
    return stream
  }

  /// Gets a socket for writing without response: less work for each value than ``write(_:_:timeout:)``.
  /// - Throws: ``BlueZError``: `.notSupported` when the characteristic cannot be written without response,
  ///   `.inProgress` when somebody in this machine holds it already, `.notConnected`, `.staleHandle`.
  public func writer() async throws -> CharacteristicWriter {
    try check()
    guard flags.contains(.writeWithoutResponse) else {
      throw BlueZError(.notSupported, "\(uuid) cannot be written without response")
    }
    let (descriptor, mtu) = try await acquire("AcquireWrite")
    return CharacteristicWriter(
      uuid: uuid, mtu: mtu, socket: try PacketSocket(owning: descriptor, onPacket: { _ in }, onClose: {}))
  }

  private func acquire(_ member: String) async throws -> (FileDescriptor, Int) {
    do {
      let reply = try await device.core.call(
        path, Self.interface, member, [.properties([:])], returning: "hq", timeout: .seconds(35),
        doing: "\(member) of \(uuid)")
      guard let descriptor = reply[0].fileDescriptor, let mtu = reply[1].integer(as: Int.self) else {
        throw BlueZError(.failed, "\(member) of \(uuid) brought no socket")
      }
      return (descriptor, mtu)
    } catch let error as BlueZError where error.code == .notPermitted {
      // "Notify acquired" and "Write acquired".
      throw BlueZError(
        .inProgress, error.message, hint: "another subscription in this machine holds it", underlying: error.underlying)
    }
  }
}

/// Writes values without response through a socket. It is given back with the last reference.
public final class CharacteristicWriter: Sendable {
  /// The ATT MTU of the link when the socket was made, in bytes.
  public let mtu: Int
  private let uuid: BluetoothUUID
  private let socket: PacketSocket

  init(uuid: BluetoothUUID, mtu: Int, socket: PacketSocket) {
    self.uuid = uuid
    self.mtu = mtu
    self.socket = socket
  }

  /// The most bytes of one value: MTU − 3, at most 512.
  public var longestValue: Int { min(mtu - 3, PacketSocket.longestValue) }

  /// Writes one value; waits while bluetoothd has no room. That it is taken says nothing of the radio.
  /// - Parameters:
  ///   - value: at most ``longestValue`` bytes.
  ///   - timeout: how long to wait for room.
  /// - Throws: ``BlueZError``: `.invalidArgument` when it is too long (bluetoothd would cut it silently),
  ///   `.notConnected`, `.timedOut`; `CancellationError`.
  public func write(_ value: [UInt8], timeout: Duration = .seconds(35)) async throws {
    guard value.count <= longestValue else {
      throw BlueZError(.invalidArgument, "\(value.count) bytes for \(uuid), which takes \(longestValue) in one write")
    }
    try await socket.send(value, timeout: timeout)
  }

  /// Gives the socket back.
  public func close() { socket.close() }
}
