import DBus

/// Whether something can be established now, and what is in its way.
extension SessionCore {
  /// How long what comes back with bluetoothd is waited for.
  private static let patience = Duration.seconds(10)

  /// Where an adapter is, at once or in a moment: bluetoothd is there before its adapters are.
  /// - Throws: ``BlueZError`` with code `.serviceUnavailable` or `.noAdapter`.
  func whenThere(_ address: BluetoothAddress) async throws -> ObjectPath {
    do {
      return try await wait("waiting for the adapter \(address)", Self.patience) { state in
        if let path = Adapter.path(of: address, in: state) { return path }
        if let absence = Self.absence(of: address, in: state) { throw absence }
        return nil
      }
    } catch let error as BlueZError where error.code == .timedOut {
      throw lost(address)
    }
  }

  /// It has not come back with bluetoothd as it was; nobody else is to wait for it.
  private func lost(_ address: BluetoothAddress) -> BlueZError {
    state.withLock { $0.awaited[address] = nil }
    return BlueZError(.noAdapter, "the adapter \(address) has not come back with bluetoothd")
  }

  private static func absence(in state: borrowing State) -> BlueZError? {
    guard state.connection == nil || !state.isUp else { return nil }
    return BlueZError(.serviceUnavailable, "bluetoothd is not there", hint: "start it: `systemctl start bluetooth`")
  }

  /// Why an adapter is not there; `nil` when it is, or comes back in a moment.
  static func absence(of address: BluetoothAddress, in state: borrowing State) -> BlueZError? {
    if let absence = absence(in: state) { return absence }
    guard Adapter.path(of: address, in: state) == nil, state.awaited[address] == nil else { return nil }
    return BlueZError(.noAdapter, "the adapter \(address) is not there")
  }

  /// Where a registration can be established, at once or in a moment: bluetoothd adds adapters, and their interfaces,
  /// one by one, and what the session had switched on it switches on again.
  /// - Throws: ``BlueZError`` with code `.serviceUnavailable`, `.noAdapter`, `.notPowered`, or `.notSupported` when this
  ///   bluetoothd has not what the registration is made with.
  func whenReady(for registration: any Registration) async throws -> (Connection, AdapterLife) {
    let phase = "waiting for \(registration.place)"
    do {
      return try await wait(phase, Self.patience) { state in
        if let ready = Self.ready(for: registration, in: state) { return ready }
        if let obstacle = Self.obstacle(to: registration, in: state) { throw obstacle }
        return nil
      }
    } catch let error as BlueZError where error.code == .timedOut {
      if case .adapter(let address) = registration.place {
        let error = lost(address)
        if Adapter.path(of: address, self) == nil { throw error }
      }
      let isOff = state.withLock { Self.isOff(registration, in: $0) }
      throw BlueZError(
        isOff ? .notPowered : .notSupported,
        isOff
          ? "\(registration.title): \(registration.place) does not come on again"
          : "\(registration.title): bluetoothd does not offer \(registration.manager)")
    }
  }

  static func ready(for registration: any Registration, in state: borrowing State) -> (Connection, AdapterLife)? {
    // bluetoothd adds an adapter's interfaces one by one; it is ready when both managers are there.
    guard let connection = state.connection, let life = life(of: registration, in: state),
      registration.place == .service || state.cache.properties(life.path, "org.bluez.GattManager1") != nil,
      state.cache.properties(life.path, registration.manager) != nil, !isOff(registration, in: state)
    else { return nil }
    return (connection, life)
  }

  private static func isOff(_ registration: any Registration, in state: borrowing State) -> Bool {
    guard registration.needsPower, let path = life(of: registration, in: state)?.path else { return false }
    return state.cache.properties(path, Adapter.interface)?["Powered"]?.bool != true
  }

  /// What does not pass by waiting.
  private static func obstacle(to registration: any Registration, in state: borrowing State) -> BlueZError? {
    guard case .adapter(let address) = registration.place else { return absence(in: state) }
    if let absence = absence(of: address, in: state) { return absence }
    guard let path = Adapter.path(of: address, in: state) else { return nil }
    // The advertising manager is the last thing bluetoothd adds to an adapter.
    if state.cache.properties(path, "org.bluez.LEAdvertisingManager1") != nil,
      state.cache.properties(path, registration.manager) == nil
    {
      return BlueZError(
        .notSupported, "\(registration.title): bluetoothd does not offer \(registration.manager)",
        hint: "is it one that only `bluetoothd -E` has?")
    }
    let isWished = state.powerWishes.contains(address) && state.unpowered.contains(path)
    let isComingOn = isWished || state.awaited[address] != nil
    guard isOff(registration, in: state), !isComingOn else { return nil }
    return BlueZError(.notPowered, "\(path.lastElement) is switched off", hint: "power it first")
  }
}
