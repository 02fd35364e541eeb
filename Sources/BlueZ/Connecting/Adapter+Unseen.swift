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
    let found = Lock<(device: Device, attempt: Leases.Attempt)?>(nil)
    do {
      try await Device(session: session, path: expected).withRadioToItself(at: root) {
        let generation = core.state.withLock { $0.generation }
        let target = UnseenAttempts.Target(adapter: root, address: address, type: type, generation: generation)
        let link = try await linked(target, timeout, lifetime)
        found.withLock { $0 = link }
      }
    } catch let error as BlueZError where Self.needsScan(error) {
      core.logger.debug("not connected without a scan", metadata: ["error": "\(error)"])
      return nil
    } catch let error as BlueZError where error.code == .failed {
      throw BlueZError(notConnecting: error)
    }
    guard let (device, attempt) = found.withLock({ $0 }) else { return nil }
    defer { device.end(attempt) }
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
  ) async throws -> (Device, Leases.Attempt) {
    let core = core
    let session = session
    let outcomes = BoundedStream.make(
      of: Result<UnseenAttempts.Link, any Error>.self, limit: 1, policy: .dropNewest)
    let waiter = UnseenAttempts.Waiter(source: outcomes.source, lifetime: lifetime)
    guard let ending = core.onClose({ outcomes.source.finish() }) else { throw SessionCore.closed }
    defer { core.stopObserving(ending) }
    let (id, isFirst) = core.state.withLock { $0.unseen.join(target, waiter) }
    if isFirst { core.connectDevice(target) }
    do {
      return try await withTimeout(timeout, "connecting to \(target.address)") {
        for await outcome in outcomes.stream {
          let link = try outcome.get()
          return (Device(session: session, path: link.device, generation: target.generation), link.attempt)
        }
        throw core.errorOfAnEndedStream()
      }
    } catch {
      core.state.withLock { $0.unseen.leave(target, id) }
      if let link = waiter.link.withLock({ $0 }) {
        let device = Device(session: session, path: link.device, generation: target.generation)
        defer { device.end(link.attempt) }
        try await device.giveUpOnceAnswered()
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
    state.withLock { state in
      let waiters = state.isClosed ? [] : state.unseen.end(target)
      if waiters.isEmpty, case .success(let path) = outcome { state.disconnections.begin(path) }
      let isCurrent = state.generation == target.generation
      for waiter in waiters {
        let told = outcome.flatMap { path -> Result<UnseenAttempts.Link, any Error> in
          guard isCurrent else { return .failure(Self.endedWhileConnecting(target.address)) }
          let link = UnseenAttempts.Link(
            device: path, attempt: state.leases.beginAttempt(path, waiter.lifetime))
          waiter.link.withLock { $0 = link }
          return .success(link)
        }
        waiter.source.yield(told)
      }
      return !waiters.isEmpty
    }
  }
}

extension Device {
  /// Ends an attempt that has made a link, with what the session has heard of the link since.
  fileprivate func end(_ attempt: Leases.Attempt) {
    core.state.withLock { state in
      let isLinked = state.cache.properties(path, Self.interface)?["Connected"]?.bool == true
      state.leases.endAttempt(attempt, hasLink: isLinked)
    }
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
