import DBus
extension Device {
  /// Connects, and waits until the services can be used, within the default limits of
  /// ``ConnectOptions/direct(timeout:attempts:backoff:)``. Returns at once when both is the case already.
  ///
  /// Cancelling the task ends the attempt.
  /// - Throws: The errors of ``connect(_:lifetime:requiring:)``.
  public func connect() async throws {
    _ = try await dial(.direct(), .session, [:]).connect()
  }

  /// Connects according to a policy, and waits until the services can be used; with `.keepConnected` it returns at
  /// once.
  ///
  /// Services that never appear, or that lack a required characteristic, may be caused by bluetoothd's cache of the
  /// device: bluetoothd is then made to forget the device, and one more attempt starts with discovering it again. A
  /// bonded device is not forgotten, because that would delete its keys. On Linux 6.1 a connection to a peer that does
  /// not respond is closed only when bluetoothd has given up: 30 s after its last request.
  ///
  /// ```swift
  /// let connection = try await device.connect(.direct(attempts: 5), requiring: ["180d": ["2a37"]])
  /// print(connection.state)
  /// ```
  /// - Parameters:
  ///   - options: The policy: the number of attempts and the timeouts.
  ///   - lifetime: The end of the link: by default with the session, when the session makes it.
  ///   - required: The characteristics, by service, without which the connection is of no use.
  /// - Throws: ``BlueZError``: `.staleHandle`; and with `.direct` `.timedOut` and `.deviceNotFound` with the phase,
  ///   `.connectFailed`, `.notPermitted` when the device is blocked here, `.notSupported` when something required is
  ///   missing, `.notConnected` when the connection ended meanwhile, `.serviceUnavailable`; or `CancellationError`.
  public func connect(
    _ options: ConnectOptions, lifetime: LinkLifetime = .session,
    requiring required: [BluetoothUUID: Set<BluetoothUUID>] = [:]
  ) async throws -> DeviceConnection {
    try await DeviceConnection.start(dial(options, lifetime, required), options)
  }

  private func dial(
    _ options: ConnectOptions, _ lifetime: LinkLifetime, _ required: [BluetoothUUID: Set<BluetoothUUID>]
  ) throws -> Dial {
    try check()
    guard let address, let path = property("Adapter")?.objectPath,
      let adapter = session.adapters.first(where: { $0.path == path })
    else { throw BlueZError(.staleHandle, "\(peer) belongs to no adapter") }
    return Dial(adapter, address, options, lifetime, requiring: required)
  }

  /// Disconnects, and waits until the connection has ended, also when the task is cancelled. Returns at once without a
  /// connection, also because the device, the adapter or bluetoothd is gone.
  ///
  /// A call of ``connect()`` meanwhile in the same program establishes a new connection after this one has ended.
  /// bluetoothd does not report that another program is disconnecting.
  /// - Parameter timeout: The longest time to wait; bluetoothd needs about two seconds.
  /// - Throws: ``BlueZError`` with code `.timedOut`, or the error with which bluetoothd refuses.
  public func disconnect(timeout: Duration = .seconds(10)) async throws {
    do {
      if !isConnected {
        // A connection that the kernel made for a channel may not have been reported yet.
        guard core.state.withLock({ $0.leases.contains(path) }) else { return }
        let asking = Task { [core, path, peer] in
          try await core.refresh(path, Self.interface, doing: "reading the properties of \(peer)")
        }
        try await asking.value
        guard isConnected else { return }
      }
      try await endLink(timeout: timeout, doing: "disconnecting \(peer)")
    } catch let error as BlueZError where error.meansGone {
      core.logger.debug("no connection to end", metadata: ["error": "\(error)"])
    }
  }

  /// Makes bluetoothd forget the device, with its connection, its bond and the cache of its services; returns when it
  /// has.
  /// - Throws: ``BlueZError``; with code `.staleHandle` when the device was forgotten already, or bluetoothd restarted,
  ///   which keeps bonds; `.timedOut` when bluetoothd has not removed it after three calls of 5 s.
  public func remove() async throws {
    try check()
    guard let adapter = property("Adapter")?.objectPath else {
      throw BlueZError(.staleHandle, "\(peer) belongs to no adapter")
    }
    // While there is a link bluetoothd disconnects first, which takes two seconds. When the link ends by itself
    // meanwhile, 5.82 may neither answer nor remove: to `device_request_disconnect` (src/device.c) a profile that has not
    // noticed the end still is a link, and a Disconnect that the kernel refuses has no end at all. The next call finds
    // neither.
    for _ in 1..<Self.removals {
      do {
        return try await remove(from: adapter)
      } catch let error as BlueZError where error.code == .timedOut {
        if isRemoved(from: adapter) { return }
        core.logger.debug("removing again", metadata: ["error": "\(error)"])
      }
    }
    do {
      try await remove(from: adapter)
    } catch let error as BlueZError where error.code == .timedOut && isRemoved(from: adapter) {}
  }

  private static let removals = 3

  /// Returns `true` if bluetoothd has withdrawn the device alone, whose bond it deletes with it. Without its adapter the
  /// device is gone, too, but its bond is not.
  private func isRemoved(from adapter: ObjectPath) -> Bool {
    core.state.withLock { state in
      state.generation == generation && state.cache.properties(path, Self.interface) == nil
        && state.cache.properties(adapter, Adapter.interface) != nil
    }
  }

  private func remove(from adapter: ObjectPath) async throws {
    let path = path
    let generation = generation
    let doing = "removing \(peer)"
    let limit = Duration.seconds(5)
    do {
      try await core.call(
        adapter, Adapter.interface, "RemoveDevice", [.objectPath(path)], timeout: limit, doing: doing)
    } catch let error as BlueZError where error.code == .deviceNotFound {
      // Another call, of this program or another one, was served first.
    }
    try await core.wait(doing, limit) { state in
      state.generation != generation || state.cache.properties(path, Self.interface) == nil ? () : nil
    }
  }
}

extension Adapter {
  /// Connects to the device with an address, which bluetoothd need not know yet: the adapter scans until the device
  /// advertises.
  ///
  /// ```swift
  /// let connection = try await adapter.connect(to: address)
  /// let device = try await connection.device()
  /// print(device.services.map(\.uuid))
  /// ```
  /// - Parameters:
  ///   - address: The public or static address; for a bonded device its identity address.
  ///   - options: The policy: once, or again whenever the connection is lost.
  ///   - lifetime: The end of the link: by default with the session, when the session makes it.
  ///   - required: The characteristics, by service, without which the connection is of no use.
  /// - Throws: The errors of ``Device/connect(_:lifetime:requiring:)``.
  public func connect(
    to address: BluetoothAddress, _ options: ConnectOptions = .direct(), lifetime: LinkLifetime = .session,
    requiring required: [BluetoothUUID: Set<BluetoothUUID>] = [:]
  ) async throws -> DeviceConnection {
    try await DeviceConnection.start(Dial(self, address, options, lifetime, requiring: required), options)
  }
}

extension Adapter {
  /// Connects to the device with an address of known type without a scan, also when bluetoothd has never seen the device.
  ///
  /// The kernel waits for an advertisement of this device alone: that finds a device without the discoverable flag, too,
  /// and takes less of the radio than a scan. Where bluetoothd lacks the method, the adapter scans, as
  /// ``connect(to:_:lifetime:requiring:)-(BluetoothAddress,_,_,_)`` does: so far it needs `bluetoothd -E`.
  ///
  /// ```swift
  /// let connection = try await adapter.connect(to: address, type: .public)
  /// print(try await connection.device())
  /// ```
  /// bluetoothd cannot withdraw an attempt that a caller cancels, or that takes longer than the timeout: it lasts until
  /// the kernel gives up, which takes about 40 s. A link that is made until then is ended, also after the session was
  /// closed; the next attempt to connect to the address joins the one that is under way.
  /// - Parameters:
  ///   - address: The public, static or private address that the device has now.
  ///   - type: The kind of the address.
  ///   - options: The policy: once, or again whenever the connection is lost.
  ///   - lifetime: The end of the link: by default with the session, when the session makes it.
  ///   - required: The characteristics, by service, without which the connection is of no use.
  /// - Throws: The errors of ``Device/connect(_:lifetime:requiring:)``.
  public func connect(
    to address: BluetoothAddress, type: AddressType, _ options: ConnectOptions = .direct(),
    lifetime: LinkLifetime = .session, requiring required: [BluetoothUUID: Set<BluetoothUUID>] = [:]
  ) async throws -> DeviceConnection {
    try await DeviceConnection.start(Dial(self, address, type: type, options, lifetime, requiring: required), options)
  }
}
