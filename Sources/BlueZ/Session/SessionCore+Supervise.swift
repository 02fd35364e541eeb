import DBus
import Timing

/// Restores what was declared whenever bluetoothd, the adapter or the bus comes back.
extension SessionCore {
  /// The delays between attempts to restore a registration or the bus connection.
  static let backoff = Backoff(base: .milliseconds(100), limit: .seconds(5))
  /// The delays between attempts to switch an adapter on again.
  private static let powerBackoff = Backoff(base: .milliseconds(500), limit: .seconds(60))

  /// Establishes a registration now and keeps it established.
  ///
  /// A cancelled task does not wait for bluetoothd; what had left for the bus by then is undone.
  /// - Returns: The identifier to unregister it with.
  /// - Throws: ``BlueZError`` when it cannot be established now; then nothing is kept. `CancellationError`.
  func register(_ registration: any Registration) async throws -> Int {
    try Task.checkCancellation()
    _ = try await whenReady(for: registration)
    let id = state.withLock { $0.registry.declare(registration) }
    do {
      try await lane(registration.lane).runUnlessCancelled { [self] in try await establish(id) }
    } catch {
      takeDownQuietly(id)
      throw error
    }
    // The adapter may have vanished by now.
    wake.signal()
    return id
  }

  /// Makes the first attempt to establish a registration, in its lane.
  private func establish(_ id: Int) async throws {
    guard let registration = state.withLock({ $0.registry.entries[id]?.registration }) else { return }
    let (connection, instance) = try await whenReady(for: registration)
    await restoreEarlier(than: id, registration, on: connection, instance)
    try await attempt(id, registration, on: connection, instance)
  }

  /// Restores what was declared before a registration in the same lane: a new advertisement must not take the last place
  /// from one that is about to come back.
  private func restoreEarlier(
    than id: Int, _ registration: any Registration, on connection: Connection, _ instance: AdapterInstance
  ) async {
    let lane = registration.lane
    let place = registration.place
    let earlier = state.withLock { state in
      state.registry.entries.filter { key, entry in
        key < id && entry.registration.lane == lane && entry.registration.place == place
          && entry.status != .declared && !entry.isEstablished(at: instance)
      }
    }
    for (id, entry) in earlier.sorted(by: { $0.key < $1.key }) {
      do {
        try await attempt(id, entry.registration, on: connection, instance)
      } catch {
        // The supervisor tries again, and reports it.
        wake.signal()
      }
    }
  }

  /// Attempts to establish a registration, unless it was withdrawn.
  private func attempt(
    _ id: Int, _ registration: any Registration, on connection: Connection, _ instance: AdapterInstance
  ) async throws {
    let isDeclared = state.withLock { state in
      guard state.registry.entries[id] != nil else { return false }
      state.registry.attempts(id, at: instance)
      return true
    }
    guard isDeclared else { return }
    do {
      try await BlueZError.naming("registering \(registration.title)") {
        try await registration.establish(on: connection, at: instance.path)
      }
      state.withLock { state in
        let present = Self.instance(for: registration, in: state)
        state.registry.established(id, at: instance, present: present)
      }
    } catch {
      // A call without a reply may have had its effect.
      let isInDoubt = (error as? BlueZError)?.code == .timedOut
      state.withLock { _ = $0.registry.failed(id, isInDoubt: isInDoubt) }
      throw error
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
      await fillAgain()
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
        && state.registry.entries.values.filter { $0.status != .declared }.allSatisfy { entry in
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
      guard let (_, instance) = state.withLock({ Self.ready(for: entry.registration, in: $0) }) else {
        early.insert(entry.registration.place)
        continue
      }
      if entry.status != .declared, !entry.isEstablished(at: instance) { await restore(id, entry.registration) }
    }
  }

  /// Restores a registration in its lane, unless it was withdrawn or restored when its turn comes.
  private func restore(_ id: Int, _ registration: any Registration) async {
    do {
      try await lane(registration.lane).run { [self] in
        let ready = state.withLock { state -> (Connection, AdapterInstance)? in
          guard let entry = state.registry.entries[id], let ready = Self.ready(for: registration, in: state),
            !entry.isEstablished(at: ready.1)
          else { return nil }
          return ready
        }
        guard let (connection, instance) = ready else { return }
        try await attempt(id, registration, on: connection, instance)
        logger.info("restored \(registration.title)")
      }
    } catch {
      guard let entry = state.withLock({ $0.registry.entries[id] }) else { return }
      let failures = if case .missing(let failures) = entry.status { failures } else { 1 }
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
        guard let power = state.adapterPower(at: path), !power.isOn else { return false }
        return state.adapters.keptOn.contains { state.isObject(path, of: $0) }
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
        let failures = state.withLock { $0.adapters.failedToSwitchOn(path) }
        // One warning: `rfkill` may block an adapter for days.
        logger.log(
          level: isBusy || failures > 1 ? .debug : .warning, "could not switch \(path.lastElement) on again",
          metadata: ["error": "\(error)", "attempt": "\(failures)"])
        wakeLater(after: Self.powerBackoff.delay(afterFailures: failures, random: 0))
      }
    }
  }

  /// Returns the present instance of a registration's place; `nil` while the adapter is absent.
  static func instance(for registration: any Registration, in state: borrowing State) -> AdapterInstance? {
    guard case .adapter(let adapter) = registration.place else {
      return AdapterInstance(generation: state.generation, path: SessionCore.root, appearance: 0, powerUp: 0)
    }
    guard let path = state.path(of: adapter) else { return nil }
    let counts = state.adapters.counts(of: path)
    return AdapterInstance(
      generation: state.generation, path: path, appearance: counts.appearances,
      powerUp: registration.needsPower ? counts.powerUps : 0)
  }

  func wakeLater(after delay: Duration) {
    Task { [weak self] in
      try await Task.sleep(for: delay, clock: .steady)
      self?.wake.signal()
    }
  }
}
