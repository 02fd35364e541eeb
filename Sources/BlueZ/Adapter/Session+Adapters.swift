extension Session {
  /// The adapters that are present now, ordered by name.
  public var adapters: [Adapter] {
    core.state.withLock { state in
      state.cache.paths(with: Adapter.interface).compactMap { path in
        state.identity(at: path).map { Adapter(session: self, identity: $0) }
      }
    }
  }

  /// Returns an adapter, and waits briefly for it if it is absent: bluetoothd appears on the bus before its adapters
  /// do.
  /// - Parameters:
  ///   - name: The name `hci0`, its number `0`, or an address; `nil` selects the first adapter.
  ///   - timeout: The longest time to wait.
  /// - Throws: ``BlueZError`` with code `.serviceUnavailable` when bluetoothd does not run, or `.noAdapter`.
  public func adapter(_ name: String? = nil, timeout: Duration = .seconds(5)) async throws -> Adapter {
    do {
      return try await core.wait("waiting for an adapter", timeout) { [self] state in
        let cache = state.cache
        return cache.paths(with: Adapter.interface).lazy.compactMap { path -> Adapter? in
          guard cache.properties(path, "org.bluez.GattManager1") != nil,
            let identity = state.identity(at: path)
          else { return nil }
          let isWanted = name.map { name in
            [name, "hci" + name].contains(String(path.lastElement)) || BluetoothAddress(name) == identity.address
          }
          return isWanted ?? true ? Adapter(session: self, identity: identity) : nil
        }.first
      }
    } catch let error as BlueZError where error.code == .timedOut {
      if let absence = core.state.withLock({ SessionCore.absence(in: $0) }) { throw absence }
      let found = adapters.map { $0.name ?? "?" }.joined(separator: ", ")
      throw BlueZError(
        .noAdapter, "no adapter\(name.map { " '\($0)'" } ?? ""); present: \(found.isEmpty ? "none" : found)",
        hint: "`bluetoothctl list` shows the adapters of bluetoothd")
    }
  }
}
