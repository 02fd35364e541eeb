import DBus
import Logging
import Streams

/// The part of a session that its handles share: the bus connection, the object cache, and the registry of everything
/// that was declared.
///
/// The cache is updated on the D-Bus connection's own thread, in the order of the wire and before any caller resumes.
final class SessionCore: Sendable {
  static let service = "org.bluez"
  /// The path of bluetoothd's own object.
  static let root: ObjectPath = "/org/bluez"

  struct State {
    var bus = BusState.disconnected
    var cache = ObjectCache()
    /// The number of bluetoothd instances that this session has seen end; a handle of an earlier one is stale.
    var generation = 0
    var release = ReleaseLookup()
    var adapters = AdapterPresence()
    var observers = Observers()
    var registry = Registry()
    var pairing = PairingState()
    var disconnections = Disconnections()
    var channels = AttemptedChannels()
    var leases = Leases()
    var unseen = UnseenAttempts()
    var closedSockets = ClosedSockets()
    var lanes: [RegistrationLane: SerialQueue] = [:]
  }

  let bus: Connection.Bus
  /// The release, if the caller that opened the session specified it.
  let version: BlueZRelease?
  let logger: Logger
  let kernel: KernelAccess
  let state = Lock(State())
  /// Agents and pairing windows that start and stop: the end of one must not overtake the start of the next.
  let pairingSteps = SerialQueue()
  /// Wakes the supervisor.
  let wake = WakeSignal()
  /// The links that end after the session.
  let lastLinks = Lock<Task<Void, Never>?>(nil)

  init(bus: Connection.Bus, version: BlueZRelease?, logger: Logger, kernel: KernelAccess = .host) {
    self.bus = bus
    self.version = version
    self.logger = logger
    self.kernel = kernel
  }

  /// Ends the session: its links, its streams, and with the connection to the bus all its registrations.
  func close() {
    let end = state.withLock { state -> SessionEnd? in
      guard !state.isClosed else { return nil }
      defer {
        state.bus = .closed
        state.generation += 1
        state.cache.removeAll()
        state.leases.removeAll()
        // The discoveries in it refer to this session.
        state.registry = Registry()
      }
      return state.end()
    }
    guard let end else { return }
    for handler in end.observers.handlers { handler(.serviceDown) }
    // Before their links: a channel that is closed in order is no failure for its peer.
    for ending in end.observers.endings { ending() }
    // Before the connection closes: bluetoothd keeps the links of a program that has ended.
    if let connection = end.bus.connection {
      endLinks(end.links, over: connection)
      clear(end.leftovers, over: connection)
    }
    if let (links, timeout) = end.unanswered {
      let ending = endLinks(links, onceAnsweredWithin: timeout)
      lastLinks.withLock { $0 = ending }
    }
    end.bus.connection?.close()
    wake.finish()
  }

  // MARK: The bus

  /// Connects, subscribes, and fills the cache if bluetoothd runs.
  func connect() async throws {
    let connection: Connection
    do {
      connection = try await Connection.open(bus, logger: logger)
    } catch let error as DBusError {
      throw BlueZError(connecting: error)
    }
    let subscriptions = try await BlueZError.naming("subscribing to org.bluez") {
      [
        try await connection.observeOwner(of: Self.service) { [weak self] in self?.ownerChanged($0) },
        try await connection.observe(
          MatchRule(sender: Self.service, interface: "org.freedesktop.DBus.ObjectManager"),
          onEnd: { [weak self] in self?.busLost() }
        ) { [weak self] in self?.apply($0) },
        try await connection.observe(
          MatchRule(
            sender: Self.service, pathNamespace: "/org/bluez", interface: InterfaceName.properties,
            member: "PropertiesChanged")
        ) { [weak self] in self?.apply($0) },
        try await connection.observe(
          // Of a device, and of its bearers.
          MatchRule(sender: Self.service, pathNamespace: "/org/bluez", member: "Disconnected")
        ) { [weak self] in self?.apply($0) },
      ]
    }
    let attachment = BusState.Attachment(connection: connection, subscriptions: subscriptions)
    guard state.withLock({ $0.bus.attach(attachment) }) else {
      connection.close()
      throw BlueZError(.serviceUnavailable, "the session is closed")
    }
    await fill(connection)
  }

  /// Reads all objects of bluetoothd. Its absence is no error, because it may start later.
  private func fill(_ connection: Connection) async {
    do {
      _ = try await BlueZError.naming("reading the objects of bluetoothd") {
        try await connection.call(
          Self.service, "/", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects",
          options: .init(
            returning: "a{oa{sa{sv}}}",
            onArrival: { [weak self] in self?.filled($0[0], by: connection) }))
      }
    } catch let error as BlueZError where error.code != .serviceUnavailable {
      guard let failures = state.withLock({ $0.bus.readingFailed(error, on: connection) }) else { return }
      logger.log(
        level: failures > 1 ? .debug : .warning, "bluetoothd does not return its objects",
        metadata: ["error": "\(error)", "attempt": "\(failures)"])
      wakeLater(after: Self.backoff.delay(afterFailures: failures, random: 0))
    } catch {
      logger.info("bluetoothd does not respond", metadata: ["error": "\(error)"])
    }
  }

  /// Reads the objects again that bluetoothd did not return.
  func fillAgain() async {
    guard case .unreadable(let attachment, _, _) = state.withLock({ $0.bus }) else { return }
    await fill(attachment.connection)
  }

  private func filled(_ objects: Value, by connection: Connection) {
    var all: [ObjectPath: ObjectCache.Interfaces] = [:]
    for entry in objects.entries ?? [] {
      if let path = entry.key.objectPath { all[path] = entry.value.interfaces }
    }
    let observers = state.withLock { state -> [Observers.Handler] in
      guard state.bus.serviceAppeared(on: connection) else { return [] }
      // An adapter that was signalled before this reply has not appeared twice.
      let known = Set(state.cache.paths(with: InterfaceName.adapter))
      state.cache.replaceAll(all)
      for path in state.cache.paths(with: InterfaceName.adapter) where !known.contains(path) {
        state.adapterAppeared(at: path)
      }
      return state.observers.all
    }
    for observer in observers { observer(.serviceUp) }
    wake.signal()
  }

  private func ownerChanged(_ change: NameOwnerChange) {
    if change.oldOwner != nil { serviceDown() }
    guard change.newOwner != nil, let connection = state.withLock({ $0.bus.connection }) else { return }
    Task { await fill(connection) }
  }

  private func busLost() {
    serviceDown(isBusLost: true)
    wake.signal()
  }

  private func serviceDown(isBusLost: Bool = false) {
    let (observers, former) = state.withLock { state -> ([Observers.Handler], BusState) in
      // The subscriptions are released after the lock.
      let former = state.bus
      guard !former.isClosed else { return ([], former) }
      for path in state.cache.paths(with: InterfaceName.adapter) {
        if let power = state.adapterPower(at: path), let adapter = state.identity(at: path) {
          state.adapters.vanished(adapter, power)
        }
      }
      if isBusLost { state.bus.detach() } else { state.bus.serviceVanished() }
      state.cache.removeAll()
      state.leases.removeAll()
      state.closedSockets.removeAll()
      state.registry.isComplete = false
      state.generation += 1
      return (state.observers.all, former)
    }
    for observer in observers { observer(.serviceDown) }
    withExtendedLifetime(former) {}
  }

  private func apply(_ signal: Signal) {
    let (change, observers) = state.withLock { state -> (ObjectCache.Change?, [Observers.Handler]) in
      let isKnownAdapter =
        signal.arguments.first?.objectPath.map { state.cache.properties($0, InterfaceName.adapter) != nil } ?? false
      guard let change = state.cache.apply(signal) else { return (nil, []) }
      switch change {
      case .added(let path, let interfaces)
      where interfaces.contains(InterfaceName.adapter) && !isKnownAdapter:
        state.adapterAppeared(at: path)
      case .changed(let path, InterfaceName.adapter, let changed, _) where changed["Powered"]?.bool == true:
        state.adapters.switchedOn(path, state.adapterPower(at: path))
      case .changed(let path, InterfaceName.device, let changed, _) where changed["Connected"]?.bool == false:
        state.leases.end(path)
      case .removed(let path, let interfaces) where interfaces.contains(InterfaceName.device): state.leases.end(path)
      default: break
      }
      return (change, state.observers.all)
    }
    guard let change else { return }
    for observer in observers { observer(change) }
    switch change {
    case .added(_, let interfaces):
      // GattManager1 and LEAdvertisingManager1 come after Adapter1 itself.
      if interfaces.contains(where: { $0.hasPrefix("org.bluez.") && $0.hasSuffix("Manager1") }) { wake.signal() }
      if interfaces.contains(InterfaceName.adapter) { wake.signal() }
    case .changed(_, InterfaceName.adapter, let changed, _) where changed["Powered"] != nil: wake.signal()
    default: break
    }
  }
}

extension SessionCore.State {
  var isServiceUp: Bool { bus.isServiceUp }

  var isClosed: Bool { bus.isClosed }
}
