import DBus

/// Decides whether a registration can be established now, and what prevents it.
extension SessionCore {
  /// The longest time to wait for what comes back with bluetoothd.
  private static let returnTimeout = Duration.seconds(10)

  /// Waits until an adapter is present: bluetoothd appears before its adapters do.
  /// - Returns: The adapter's object.
  /// - Throws: ``BlueZError`` with code `.serviceUnavailable` or `.noAdapter`.
  func whenPresent(_ adapter: AdapterIdentity) async throws -> ObjectPath {
    do {
      return try await wait("waiting for the adapter \(adapter)", Self.returnTimeout) { state in
        if let path = state.path(of: adapter) { return path }
        if let absence = Self.absence(of: adapter, in: state) { throw absence }
        return nil
      }
    } catch let error as BlueZError where error.code == .timedOut {
      throw notReturned(adapter)
    }
  }

  /// The adapter did not come back in its former state; no other caller shall wait for it.
  private func notReturned(_ adapter: AdapterIdentity) -> BlueZError {
    state.withLock { $0.adapters.stopAwaiting(adapter) }
    return BlueZError(.noAdapter, "the adapter \(adapter) did not come back after bluetoothd restarted")
  }

  static func absence(in state: borrowing State) -> BlueZError? {
    guard !state.isServiceUp else { return nil }
    if case .unreadable(_, let error, _) = state.bus { return error }
    if state.bus.connection == nil, !state.isClosed { return noBus }
    return BlueZError(.serviceUnavailable, "bluetoothd is not running", hint: "start it: `systemctl start bluetooth`")
  }

  /// Returns the reason why an adapter is absent; `nil` when it is present or about to come back.
  static func absence(of adapter: AdapterIdentity, in state: borrowing State) -> BlueZError? {
    if let absence = absence(in: state) { return absence }
    guard state.path(of: adapter) == nil, !state.adapters.isAwaited(adapter) else { return nil }
    return BlueZError(.noAdapter, "the adapter \(adapter) is absent")
  }

  /// Waits until a registration can be established: bluetoothd adds adapters and their interfaces one by one, and the
  /// session switches on again what it had switched on.
  /// - Throws: ``BlueZError`` with code `.serviceUnavailable`, `.noAdapter`, `.notPowered`, or `.notSupported` when this
  ///   bluetoothd lacks the registration's interface.
  func whenReady(for registration: any Registration) async throws -> (Connection, AdapterInstance) {
    let phase = "waiting for \(registration.place)"
    do {
      return try await wait(phase, Self.returnTimeout) { state in
        if let ready = Self.ready(for: registration, in: state) { return ready }
        if let obstacle = Self.obstacle(to: registration, in: state) { throw obstacle }
        return nil
      }
    } catch let error as BlueZError where error.code == .timedOut {
      if case .adapter(let adapter) = registration.place {
        let error = notReturned(adapter)
        if path(of: adapter) == nil { throw error }
      }
      let isOff = state.withLock { Self.isOff(registration, in: $0) }
      throw BlueZError(
        isOff ? .notPowered : .notSupported,
        isOff
          ? "\(registration.title): \(registration.place) was not switched on again"
          : "\(registration.title): bluetoothd does not provide \(registration.manager)")
    }
  }

  static func ready(for registration: any Registration, in state: borrowing State) -> (Connection, AdapterInstance)? {
    // bluetoothd adds an adapter's interfaces one by one; the adapter is ready when both managers are present.
    guard let connection = state.bus.connection, let instance = instance(for: registration, in: state),
      registration.place == .service || state.cache.properties(instance.path, InterfaceName.gattManager) != nil,
      state.cache.properties(instance.path, registration.manager) != nil, !isOff(registration, in: state)
    else { return nil }
    return (connection, instance)
  }

  private static func isOff(_ registration: any Registration, in state: borrowing State) -> Bool {
    guard registration.needsPower, let path = instance(for: registration, in: state)?.path else { return false }
    return state.cache.properties(path, InterfaceName.adapter)?["Powered"]?.bool != true
  }

  /// Returns the obstacle that does not pass by waiting.
  private static func obstacle(to registration: any Registration, in state: borrowing State) -> BlueZError? {
    guard case .adapter(let adapter) = registration.place else { return absence(in: state) }
    if let absence = absence(of: adapter, in: state) { return absence }
    guard let path = state.path(of: adapter) else { return nil }
    // The advertising manager is the last interface that bluetoothd adds to an adapter.
    if state.cache.properties(path, InterfaceName.advertisingManager) != nil,
      state.cache.properties(path, registration.manager) == nil
    {
      return BlueZError(
        .notSupported, "\(registration.title): bluetoothd does not provide \(registration.manager)",
        hint: "some interfaces need `bluetoothd -E`")
    }
    let isComingOn = state.adapters.isBeingSwitchedOn(adapter, at: path) || state.adapters.isAwaited(adapter)
    guard isOff(registration, in: state), !isComingOn else { return nil }
    return BlueZError(.notPowered, "\(path.lastElement) is switched off", hint: "switch it on first")
  }
}
