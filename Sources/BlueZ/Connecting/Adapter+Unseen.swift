import DBus
import Logging
import Streams

extension Adapter {
  /// Connects to a device that bluetoothd does not know, without a scan.
  /// - Returns: The device; `nil` if bluetoothd knows the device already, or lacks the method.
  func connectUnseen(
    _ address: BluetoothAddress, _ type: AddressType, _ timeout: Duration, _ lifetime: LinkLifetime
  ) async throws -> Device? {
    let root = try await core.whenPresent(identity)
    let expected = try await BlueZError.naming("connecting to \(address)") {
      try root.appending("dev_" + address.description.replacing(":", with: "_"))
    }
    try await Device(session: session, path: expected).untilNoLinkEnds(timeout)
    await core.claimCapability()
    let found = Lock<Device?>(nil)
    do {
      try await Device(session: session, path: expected).withRadioToItself(at: root) {
        let generation = core.state.withLock { $0.generation }
        let target = UnseenAttempts.Target(adapter: root, address: address, type: type, generation: generation)
        let device = try await linked(target, timeout, lifetime)
        found.withLock { $0 = device }
      }
    } catch let error as BlueZError where Self.needsScan(error) {
      core.logger.debug("not connected without a scan", metadata: ["error": "\(error)"])
      return nil
    } catch let error as BlueZError where error.code == .failed {
      throw BlueZError(.connectFailed, error.message, underlying: error.underlying)
    }
    guard let device = found.withLock({ $0 }) else { return nil }
    do {
      // The reply came over another connection than the signals.
      try await core.wait("waiting for the object of \(address)", timeout) { state in
        guard state.generation == device.generation else { throw SessionCore.endedWhileConnecting(address) }
        return state.cache.properties(device.path, Device.interface) == nil ? nil : ()
      }
      try await core.refresh(device.path, Device.interface, doing: "reading the properties of \(device.peer)")
    } catch {
      // The link is of no use without its object, or to a caller that has left.
      try await device.giveUpOnceAnswered()
      throw error
    }
    return device
  }

  /// Returns `true` for a device that bluetoothd knows, and for a bluetoothd without the method.
  private static func needsScan(_ error: BlueZError) -> Bool {
    ["org.bluez.Error.AlreadyExists", "org.freedesktop.DBus.Error.UnknownMethod"].contains(error.underlying?.name)
  }

  /// Makes the call, or joins the one that is under way, and waits for its outcome.
  private func linked(
    _ target: UnseenAttempts.Target, _ timeout: Duration, _ lifetime: LinkLifetime
  ) async throws -> Device {
    let core = core
    let session = session
    let outcomes = BoundedStream.make(of: Result<ObjectPath, any Error>.self, limit: 1, policy: .dropNewest)
    let waiter = UnseenAttempts.Waiter(source: outcomes.source, lifetime: lifetime)
    guard let ending = core.onClose({ outcomes.source.finish() }) else { throw SessionCore.closed }
    defer { core.stopObserving(ending) }
    let (id, isFirst) = core.state.withLock { $0.unseen.join(target, waiter) }
    if isFirst { core.connectDevice(target) }
    do {
      return try await withTimeout(timeout, "connecting to \(target.address)") {
        for await outcome in outcomes.stream {
          return Device(session: session, path: try outcome.get(), generation: target.generation)
        }
        throw core.errorOfAnEndedStream()
      }
    } catch {
      core.state.withLock { $0.unseen.leave(target, id) }
      if let path = waiter.linked.withLock({ $0 }) {
        try await Device(session: session, path: path, generation: target.generation).giveUpOnceAnswered()
      }
      throw error
    }
  }
}

extension SessionCore {
  /// The time after which no reply is expected any more.
  private static let longestAttempt = Duration.seconds(90)

  /// Calls `ConnectDevice` over a connection to the bus of its own, which outlives the session: a link that results after
  /// its end must be ended, too.
  fileprivate func connectDevice(_ target: UnseenAttempts.Target) {
    let responseTimeout = state.withLock { $0.disconnections.responseTimeout }
    Task { [bus, logger, weak self] in
      var instance: RemoteObject?
      let outcome: Result<ObjectPath, any Error>
      do {
        guard let name = try await self?.uniqueName(for: target) else { throw Self.closed }
        let called = RemoteObject(try await Connection.open(bus, logger: logger), name, target.adapter)
        instance = called
        outcome = .success(try await called.connectDevice(target, timeout: Self.longestAttempt))
      } catch {
        outcome = .failure(error)
      }
      let isWanted = self?.ended(target, outcome) ?? false
      if !isWanted, let instance, let path = try? outcome.get() {
        let device = RemoteObject(instance.connection, instance.destination, path)
        let link = LateDisconnections.Link(bus: bus, device: path)
        LateDisconnections.shared.begin([link])
        await device.endLink(link, through: InterfaceName.device, responseTimeout: responseTimeout, logger)
        self?.endDisconnection(path)
      }
      instance?.connection.close()
    }
  }

  /// Returns the unique name of the instance of bluetoothd that is to be called, by which no later instance is reached.
  private func uniqueName(for target: UnseenAttempts.Target) async throws -> String {
    let connection = try connection()
    let name = try await BlueZError.naming("connecting to \(target.address)") {
      try await connection.owner(of: Self.service)
    }
    // The bus tells of the end of an instance before it names the next one.
    guard let name, state.withLock({ $0.generation == target.generation }) else {
      throw Self.endedWhileConnecting(target.address)
    }
    return name
  }

  fileprivate static func endedWhileConnecting(_ address: BluetoothAddress) -> BlueZError {
    BlueZError(.serviceUnavailable, "bluetoothd ended while it connected to \(address)")
  }

  /// Hands the outcome of a call to those that wait for it.
  ///
  /// The reply and the signals come over two connections. So the reply may be noticed after the end of the instance that
  /// sent it; the paths of its devices are then those of other devices and links.
  /// - Returns: `false` if a link was made that nobody waits for; ``endDisconnection(_:)`` must follow.
  private func ended(_ target: UnseenAttempts.Target, _ outcome: Result<ObjectPath, any Error>) -> Bool {
    let (waiters, told) = state.withLock { state -> ([UnseenAttempts.Waiter], Result<ObjectPath, any Error>) in
      let waiters = state.isClosed ? [] : state.unseen.end(target)
      guard case .success(let path) = outcome else { return (waiters, outcome) }
      if waiters.isEmpty { state.disconnections.begin(path) }
      guard state.generation == target.generation else {
        return (waiters, .failure(Self.endedWhileConnecting(target.address)))
      }
      for waiter in waiters {
        waiter.linked.withLock { $0 = path }
        let attempt = state.leases.beginAttempt(path, waiter.lifetime)
        state.leases.endAttempt(attempt, hasLink: true)
      }
      return (waiters, outcome)
    }
    for waiter in waiters { waiter.source.yield(told) }
    return !waiters.isEmpty
  }
}

extension RemoteObject {
  /// Calls `ConnectDevice` of an adapter.
  fileprivate func connectDevice(_ target: UnseenAttempts.Target, timeout: Duration) async throws -> ObjectPath {
    try await BlueZError.naming("connecting to \(target.address)") {
      let reply = try await call(
        InterfaceName.adapter, "ConnectDevice",
        .properties([
          "Address": .string(target.address.description), "AddressType": .string(target.type.rawValue),
        ]), returning: "o", timeout: timeout)
      guard let path = reply.first?.objectPath else {
        throw BlueZError(.failed, "connecting to \(target.address): bluetoothd returned no device")
      }
      return path
    }
  }
}
