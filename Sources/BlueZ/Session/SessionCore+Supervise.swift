import DBus
import Timing

/// Restores what was declared whenever bluetoothd, the adapter or the bus comes back.
extension SessionCore {
  /// The delays between attempts to restore a registration or the bus connection.
  private static let backoff = Backoff(base: .milliseconds(100), limit: .seconds(5))

  /// Establishes a registration now and keeps it established.
  /// - Returns: The identifier to unregister it with.
  /// - Throws: ``BlueZError`` when it cannot be established now; then nothing is kept.
  func register(_ registration: any Registration) async throws -> Int {
    let (connection, instance) = try await whenReady(for: registration)
    try await BlueZError.naming("registering \(registration.title)") {
      try await registration.establish(on: connection, at: instance.path)
    }
    // The adapter may have vanished by now.
    defer { wake.signal() }
    return state.withLock { $0.registry.add(registration, at: instance) }
  }

  /// Removes a registration from the registry.
  /// - Returns: The object at which it is still established, so that the caller can unregister it there.
  func unregister(_ id: Int) -> ObjectPath? {
    state.withLock { state in
      guard let entry = state.registry.remove(id), let instance = Self.instance(for: entry.registration, in: state),
        entry.isEstablished(at: instance)
      else { return nil }
      return instance.path
    }
  }

  /// Records that bluetoothd dropped a registration.
  func dropped(_ registration: any Registration) {
    state.withLock { $0.registry.dropped(registration) }
    wake.signal()
  }

  /// Runs the supervisor, which lasts as long as the session.
  func supervise() async {
    var busFailures = 0
    for await _ in wake.signals {
      let bus = state.withLock { $0.bus }
      if bus.isClosed { return }
      if bus.connection == nil {
        do {
          try await connect()
          busFailures = 0
        } catch {
          busFailures += 1
          logger.warning(
            "connecting to the bus failed", metadata: ["error": "\(error)", "attempt": "\(busFailures)"])
          wakeLater(after: Self.backoff.delay(afterFailures: busFailures, random: 0))
          continue
        }
      }
      await restorePower()
      await restoreAll()
      publishIfRestored()
    }
  }

  private func publishIfRestored() {
    let observers = state.withLock { state -> [Observers.Handler] in
      let wasComplete = state.registry.isComplete
      let isComplete =
        state.isServiceUp && state.adapters.unchecked.isEmpty
        && state.registry.entries.values.allSatisfy { entry in
          entry.isEstablished(at: Self.ready(for: entry.registration, in: state)?.1)
        }
      state.registry.isComplete = isComplete
      return isComplete && !wasComplete ? state.observers.all : []
    }
    for observer in observers { observer(.restored) }
  }

  private func restoreAll() async {
    let entries = state.withLock { $0.registry.entries }
    // An adapter's interfaces appear one by one. A registration must not overtake one that comes earlier in the order
    // because its interface appeared in the middle of this loop.
    var early: Set<RegistrationPlace> = []
    for (id, entry) in entries.sorted(by: {
      ($0.value.registration.order, $0.key) < ($1.value.registration.order, $1.key)
    }) where !early.contains(entry.registration.place) {
      guard let (connection, instance) = state.withLock({ Self.ready(for: entry.registration, in: $0) }) else {
        early.insert(entry.registration.place)
        continue
      }
      if !entry.isEstablished(at: instance) { await restore(id, entry.registration, on: connection, instance) }
    }
  }

  private func restore(
    _ id: Int, _ registration: any Registration, on connection: Connection, _ instance: AdapterInstance
  ) async {
    do {
      try await registration.establish(on: connection, at: instance.path)
      state.withLock { $0.registry.established(id, at: instance) }
      logger.info("restored \(registration.title)")
    } catch {
      let failures = state.withLock { $0.registry.failed(id) }
      logger.warning(
        "could not restore \(registration.title)", metadata: ["error": "\(error)", "attempt": "\(failures)"])
      wakeLater(after: Self.backoff.delay(afterFailures: failures, random: 0))
    }
  }

  /// Switches on the adapters that this session had switched on and that came back switched off. Only once for each
  /// appearance: a user who switches an adapter off takes precedence.
  private func restorePower() async {
    let off = state.withLock { state in
      let off = state.adapters.unchecked.filter { path in
        guard let properties = state.cache.properties(path, InterfaceName.adapter),
          let address = properties["Address"]?.string.flatMap(BluetoothAddress.init)
        else { return false }
        return state.adapters.keptOn.contains(address) && properties["Powered"]?.bool == false
      }
      state.adapters.checked(leaving: off)
      return off
    }
    for path in off.sorted() {
      do {
        // The path stays unchecked until bluetoothd reports that the adapter is on.
        try await set(path, InterfaceName.adapter, "Powered", true, doing: "switching \(path.lastElement) on again")
      } catch {
        // bluetoothd may be switching the adapter on by itself (AutoEnable in main.conf).
        let isBusy = (error as? BlueZError)?.code == .inProgress
        logger.log(
          level: isBusy ? .debug : .warning, "could not switch \(path.lastElement) on again",
          metadata: ["error": "\(error)"])
        wakeLater(after: .milliseconds(500))
      }
    }
  }

  /// Returns the present instance of a registration's place; `nil` while the adapter is absent.
  static func instance(for registration: any Registration, in state: borrowing State) -> AdapterInstance? {
    guard case .adapter(let address) = registration.place else {
      return AdapterInstance(generation: state.generation, path: SessionCore.root, appearance: 0, powerUp: 0)
    }
    guard let path = state.path(of: address) else { return nil }
    let counts = state.adapters.counts(of: path)
    return AdapterInstance(
      generation: state.generation, path: path, appearance: counts.appearances,
      powerUp: registration.needsPower ? counts.powerUps : 0)
  }

  private func wakeLater(after delay: Duration) {
    Task { [weak self] in
      try await Task.sleep(for: delay, clock: .steady)
      self?.wake.signal()
    }
  }
}
