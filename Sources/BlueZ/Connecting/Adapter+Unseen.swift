import DBus
import Logging
import Streams
import Timing

extension Adapter {
  /// Connects to a device that bluetoothd does not know, without a scan.
  /// - Returns: The device; `nil` if bluetoothd knows the device already, or lacks the method.
  func connectUnseen(
    _ address: BluetoothAddress, _ type: AddressType, _ timeout: Duration, _ lifetime: LinkLifetime
  ) async throws -> Device? {
    let root = try await core.whenPresent(identity)
    let target = UnseenAttempts.Target(adapter: root, address: address, type: type)
    let expected = try await BlueZError.naming("connecting to \(address)") {
      try root.appending("dev_" + address.description.replacing(":", with: "_"))
    }
    try await Device(session: session, path: expected).untilNoLinkEnds(timeout)
    await core.claimCapability()
    let found = Lock<ObjectPath?>(nil)
    do {
      try await Device(session: session, path: expected).withRadioToItself(at: root) {
        let path = try await linked(target, timeout, lifetime)
        found.withLock { $0 = path }
      }
    } catch let error as BlueZError where Self.needsScan(error) {
      core.logger.debug("not connected without a scan", metadata: ["error": "\(error)"])
      return nil
    } catch let error as BlueZError where error.code == .failed {
      throw BlueZError(.connectFailed, error.message, underlying: error.underlying)
    }
    guard let path = found.withLock({ $0 }) else { return nil }
    let device = Device(session: session, path: path)
    do {
      // The reply came over another connection than the signals.
      try await core.wait("waiting for the object of \(address)", timeout) { state in
        state.cache.properties(path, Device.interface) == nil ? nil : ()
      }
      try await core.refresh(path, Device.interface, doing: "reading the properties of \(device.peer)")
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
  ) async throws -> ObjectPath {
    let core = core
    let outcomes = BoundedStream.make(of: Result<ObjectPath, any Error>.self, limit: 1, policy: .dropNewest)
    let waiter = UnseenAttempts.Waiter(source: outcomes.source, lifetime: lifetime)
    guard let ending = core.onClose({ outcomes.source.finish() }) else { throw SessionCore.closed }
    defer { core.stopObserving(ending) }
    let (id, isFirst) = core.state.withLock { $0.unseen.join(target, waiter) }
    if isFirst { core.connectDevice(target) }
    do {
      return try await withTimeout(timeout, "connecting to \(target.address)") {
        for await outcome in outcomes.stream { return try outcome.get() }
        throw core.errorOfAnEndedStream()
      }
    } catch {
      core.state.withLock { $0.unseen.leave(target, id) }
      if let path = waiter.linked.withLock({ $0 }) {
        try await Device(session: session, path: path).giveUpOnceAnswered()
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
      var connection: Connection?
      let outcome: Result<ObjectPath, any Error>
      do {
        let opened = try await Connection.open(bus, logger: logger)
        connection = opened
        outcome = .success(try await opened.connectDevice(target, timeout: Self.longestAttempt))
      } catch {
        outcome = .failure(error)
      }
      let isWanted = self?.ended(target, outcome) ?? false
      if !isWanted, let connection, let path = try? outcome.get() {
        await connection.endUnwanted(path, responseTimeout, logger)
        self?.endDisconnection(path)
      }
      connection?.close()
    }
  }

  /// Hands the outcome of a call to those that wait for it.
  /// - Returns: `false` if a link was made that nobody waits for; ``endDisconnection(_:)`` must follow.
  private func ended(_ target: UnseenAttempts.Target, _ outcome: Result<ObjectPath, any Error>) -> Bool {
    let waiters = state.withLock { state in
      let waiters = state.isClosed ? [] : state.unseen.end(target)
      guard case .success(let path) = outcome else { return waiters }
      for waiter in waiters {
        waiter.linked.withLock { $0 = path }
        let attempt = state.leases.beginAttempt(path, waiter.lifetime)
        state.leases.endAttempt(attempt, hasLink: true)
      }
      if waiters.isEmpty { state.disconnections.begin(path) }
      return waiters
    }
    for waiter in waiters { waiter.source.yield(outcome) }
    return !waiters.isEmpty
  }
}

extension Connection {
  fileprivate func connectDevice(_ target: UnseenAttempts.Target, timeout: Duration) async throws -> ObjectPath {
    try await BlueZError.naming("connecting to \(target.address)") {
      let reply = try await call(
        SessionCore.service, target.adapter, InterfaceName.adapter, "ConnectDevice",
        [
          .properties([
            "Address": .string(target.address.description), "AddressType": .string(target.type.rawValue),
          ])
        ], options: .init(returning: "o", timeout: timeout))
      guard let path = reply.first?.objectPath else {
        throw BlueZError(.failed, "connecting to \(target.address): bluetoothd returned no device")
      }
      return path
    }
  }

  /// Ends a link that nobody waited for. Linux 6.1 must not lose it before the peer has responded, see
  /// `Device.waitForRequest()`.
  fileprivate func endUnwanted(_ device: ObjectPath, _ responseTimeout: Duration?, _ logger: Logger) async {
    do {
      let remote = RemoteObject(self, SessionCore.service, device)
      let deadline = SteadyClock.steady.now + (responseTimeout ?? .zero)
      while SteadyClock.steady.now < deadline,
        try await remote.getAll(InterfaceName.device)["ServicesResolved"]?.bool != true
      {
        try await Task.sleep(for: .milliseconds(500), clock: .steady)
      }
      try await call(SessionCore.service, device, InterfaceName.device, "Disconnect", returning: "")
    } catch {
      logger.debug("the link to \(device) was not ended", metadata: ["error": "\(error)"])
    }
  }
}
