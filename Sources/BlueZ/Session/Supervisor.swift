import DBus
import Timing

/// Something that must exist in bluetoothd as long as its handle does: an application, an advertisement, an agent.
protocol Registration: AnyObject, Sendable {
  /// What it is, for logs and errors: "advertisement 'EdgeBlue'".
  var title: String { get }
  /// What it belongs to.
  var place: RegistrationPlace { get }
  /// The interface it is registered with.
  var manager: String { get }
  /// What is put back first: services before the advertisement that brings the centrals.
  var order: Int { get }
  /// Whether the adapter must be switched on first.
  var needsPower: Bool { get }

  /// Makes it exist where it does not: at an adapter's object, or bluetoothd's own.
  func establish(on connection: Connection, at path: ObjectPath) async throws
}

/// What a registration belongs to.
enum RegistrationPlace: Sendable, Hashable, CustomStringConvertible {
  /// An adapter, which keeps its address when it comes back under another name.
  case adapter(BluetoothAddress)
  /// bluetoothd itself, whatever adapters there are.
  case service

  var description: String {
    switch self {
    case .adapter(let address): "the adapter \(address)"
    case .service: "bluetoothd"
    }
  }
}

/// A registration and where it was last established.
struct SupervisedRegistration: Sendable {
  let registration: any Registration
  var life: AdapterLife?
  var failures = 0
}

/// One life of an adapter: from its appearance, or from being switched on for what needs power, to its end. bluetoothd
/// as a place has one life in each generation.
struct AdapterLife: Sendable, Hashable {
  let generation: Int
  let path: ObjectPath
  let appearance: Int
  let powerUp: Int
}

/// Puts back what was declared whenever bluetoothd, the adapter or the bus comes back.
extension SessionCore {
  /// Establishes something now and keeps it established.
  /// - Returns: the number to give it up with.
  /// - Throws: ``BlueZError`` when it cannot be established now; then nothing is kept.
  func register(_ registration: any Registration) async throws -> Int {
    let (connection, life) = try await whenReady(for: registration)
    try await BlueZError.naming("registering \(registration.title)") {
      try await registration.establish(on: connection, at: life.path)
    }
    // That life may be over by now.
    defer { poke() }
    return state.withLock { state in
      let id = state.nextID
      state.nextID += 1
      state.registrations[id] = SupervisedRegistration(registration: registration, life: life)
      return id
    }
  }

  /// Gives a registration up.
  /// - Returns: where it is still established, so that the caller can take it down there.
  func unregister(_ id: Int) -> ObjectPath? {
    state.withLock { state in
      guard let entry = state.registrations.removeValue(forKey: id), let life = entry.life,
        life == Self.life(of: entry.registration, in: state)
      else { return nil }
      return life.path
    }
  }

  /// Notes that bluetoothd has dropped a registration by itself.
  func lost(_ registration: any Registration) {
    state.withLock { state in
      for (id, entry) in state.registrations where entry.registration === registration {
        state.registrations[id]?.life = nil
      }
    }
    poke()
  }

  /// The supervisor: runs as long as the session.
  func supervise() async {
    var busFailures = 0
    for await _ in pokes {
      if state.withLock({ $0.isClosed }) { return }
      if state.withLock({ $0.connection == nil }) {
        do {
          try await connect()
          busFailures = 0
        } catch {
          busFailures += 1
          logger.warning("the bus is gone", metadata: ["error": "\(error)", "attempt": "\(busFailures)"])
          pokeLater(after: Self.backoff(busFailures))
          continue
        }
      }
      await restorePower()
      await restoreAll()
      tellIfRestored()
    }
  }

  private func tellIfRestored() {
    let observers = state.withLock { state -> [@Sendable (ObjectCache.Change) -> Void] in
      let wasWhole = state.isWhole
      state.isWhole =
        state.isUp && state.unpowered.isEmpty
        && state.registrations.values.allSatisfy { entry in
          entry.life.map { $0 == Self.ready(for: entry.registration, in: state)?.1 } ?? false
        }
      return state.isWhole && !wasWhole ? Array(state.observers.values) : []
    }
    for observer in observers { observer(.restored) }
  }

  private func restoreAll() async {
    let entries = state.withLock { $0.registrations }
    // An adapter's interfaces come one by one. What comes first in order must not be overtaken because its interface
    // came in the middle of this.
    var early: Set<RegistrationPlace> = []
    for (id, entry) in entries.sorted(by: {
      ($0.value.registration.order, $0.key) < ($1.value.registration.order, $1.key)
    }) where !early.contains(entry.registration.place) {
      guard let (connection, life) = state.withLock({ Self.ready(for: entry.registration, in: $0) }) else {
        early.insert(entry.registration.place)
        continue
      }
      if entry.life != life { await restore(id, entry, on: connection, life) }
    }
  }

  private func restore(
    _ id: Int, _ entry: SupervisedRegistration, on connection: Connection, _ life: AdapterLife
  ) async {
    do {
      try await entry.registration.establish(on: connection, at: life.path)
      state.withLock { state in
        state.registrations[id]?.life = life
        state.registrations[id]?.failures = 0
      }
      logger.info("restored \(entry.registration.title)")
    } catch {
      let failures = state.withLock { state in
        state.registrations[id]?.failures += 1
        return state.registrations[id]?.failures ?? 1
      }
      logger.warning(
        "could not restore \(entry.registration.title)", metadata: ["error": "\(error)", "attempt": "\(failures)"])
      pokeLater(after: Self.backoff(failures))
    }
  }

  /// Switches on again what this session had switched on and what came back switched off. Only once for each
  /// appearance: a person who switches an adapter off wins.
  private func restorePower() async {
    let off = state.withLock { state in
      state.unpowered.filter { path in
        guard let properties = state.cache.properties(path, Adapter.interface),
          let address = properties["Address"]?.string.flatMap(BluetoothAddress.init)
        else { return false }
        return state.powerWishes.contains(address) && properties["Powered"]?.bool == false
      }
    }
    state.withLock { $0.unpowered = off }
    for path in off.sorted() {
      do {
        // It stays among the unpowered until bluetoothd says that it is on.
        try await set(path, Adapter.interface, "Powered", true, doing: "switching \(path.lastElement) on again")
      } catch {
        // bluetoothd may be switching it on by itself (AutoEnable in main.conf).
        let isBusy = (error as? BlueZError)?.code == .inProgress
        logger.log(
          level: isBusy ? .debug : .warning, "could not switch \(path.lastElement) on again",
          metadata: ["error": "\(error)"])
        pokeLater(after: .milliseconds(500))
      }
    }
  }

  static func life(of registration: any Registration, in state: borrowing State) -> AdapterLife? {
    guard case .adapter(let address) = registration.place else {
      return AdapterLife(generation: state.generation, path: SessionCore.root, appearance: 0, powerUp: 0)
    }
    guard let path = Adapter.path(of: address, in: state) else { return nil }
    return AdapterLife(
      generation: state.generation, path: path, appearance: state.appearances[path] ?? 0,
      powerUp: registration.needsPower ? state.powerUps[path] ?? 0 : 0)
  }

  private func pokeLater(after delay: Duration) {
    Task { [weak self] in
      try await Task.sleep(for: delay, clock: .steady)
      self?.poke()
    }
  }

  /// 0.1 s, doubling to 5 s.
  private static func backoff(_ failures: Int) -> Duration {
    min(.milliseconds(100 * (1 << min(failures - 1, 6))), .seconds(5))
  }
}
