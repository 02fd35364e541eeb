extension Session {
  /// The adapters there are now, in the order of their names.
  public var adapters: [Adapter] {
    core.state.withLock { state in
      state.cache.paths(with: Adapter.interface).compactMap { path in
        state.cache.properties(path, Adapter.interface)?["Address"]?.string.flatMap(BluetoothAddress.init).map {
          Adapter(session: self, address: $0)
        }
      }
    }
  }

  /// Finds an adapter, and waits a little for it when it is not there yet (bluetoothd shows itself before its
  /// adapters do).
  /// - Parameters:
  ///   - name: `hci0`, its number `0`, or an address; `nil` takes the first.
  ///   - timeout: how long to wait.
  /// - Throws: ``BlueZError`` with code `.serviceUnavailable` or `.noAdapter`.
  public func adapter(_ name: String? = nil, timeout: Duration = .seconds(5)) async throws -> Adapter {
    do {
      return try await core.wait("waiting for an adapter", timeout) { [self] state in
        let cache = state.cache
        return cache.paths(with: Adapter.interface).lazy.compactMap { path -> Adapter? in
          guard cache.properties(path, "org.bluez.GattManager1") != nil,
            let address = cache.properties(path, Adapter.interface)?["Address"]?.string.flatMap(BluetoothAddress.init)
          else { return nil }
          let element = String(path.lastElement)
          let wanted = name.map { [$0, "hci" + $0].contains(element) || BluetoothAddress($0) == address } ?? true
          return wanted ? Adapter(session: self, address: address) : nil
        }.first
      }
    } catch let error as BlueZError where error.code == .timedOut {
      guard isServiceUp else {
        throw BlueZError(
          .serviceUnavailable, "bluetoothd does not answer on the bus", hint: "start it: `systemctl start bluetooth`")
      }
      let found = adapters.map { $0.name ?? "?" }.joined(separator: ", ")
      throw BlueZError(
        .noAdapter, "no adapter\(name.map { " '\($0)'" } ?? ""); there \(found.isEmpty ? "is none" : "are: \(found)")",
        hint: "`edgeblue doctor` says what is missing")
    }
  }
}
