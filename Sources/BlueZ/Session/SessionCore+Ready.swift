import DBus

/// Whether something can be established now, and what is in its way.
extension SessionCore {
  /// Where a registration can be established, at once or in a moment: bluetoothd adds an adapter's interfaces one by
  /// one, and what the session had switched on it switches on again.
  /// - Throws: ``BlueZError`` with code `.serviceUnavailable`, `.noAdapter`, `.notPowered`, or `.notSupported` when this
  ///   bluetoothd has not what the registration is made with.
  func whenReady(for registration: any Registration) async throws -> (Connection, AdapterLife) {
    let phase = "waiting for \(registration.place)"
    do {
      return try await wait(phase, .seconds(10)) { state in
        if let ready = Self.ready(for: registration, in: state) { return ready }
        if let obstacle = Self.obstacle(to: registration, in: state) { throw obstacle }
        return nil
      }
    } catch let error as BlueZError where error.code == .timedOut {
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
    guard state.connection != nil, state.isUp else {
      return BlueZError(.serviceUnavailable, "bluetoothd is not there", hint: "start it: `systemctl start bluetooth`")
    }
    guard case .adapter(let address) = registration.place else { return nil }
    guard let path = Adapter.path(of: address, in: state) else {
      return BlueZError(.noAdapter, "the adapter \(address) is not there")
    }
    // The advertising manager is the last thing bluetoothd adds to an adapter.
    if state.cache.properties(path, "org.bluez.LEAdvertisingManager1") != nil,
      state.cache.properties(path, registration.manager) == nil
    {
      return BlueZError(
        .notSupported, "\(registration.title): bluetoothd does not offer \(registration.manager)",
        hint: "is it one that only `bluetoothd -E` has?")
    }
    let isComingOn = state.powerWishes.contains(address) && state.unpowered.contains(path)
    guard isOff(registration, in: state), !isComingOn else { return nil }
    return BlueZError(.notPowered, "\(path.lastElement) is switched off", hint: "power it first")
  }
}
