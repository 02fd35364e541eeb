import DBus
import Logging
import Streams

/// What a session's handles share: the connection, the object cache, and the supervisor's list of what must be there.
///
/// The cache is fed on the D-Bus connection's own thread, in the order of the wire and before any caller resumes.
final class SessionCore: Sendable {
  static let service = "org.bluez"
  /// bluetoothd's own object.
  static let root: ObjectPath = "/org/bluez"

  struct State {
    var connection: Connection?
    var subscriptions: [Subscription] = []
    var cache = ObjectCache()
    var isUp = false
    /// Counts the lives of bluetoothd as this session has seen them; handles of an earlier one are stale.
    var generation = 0
    /// Who is finding out the release of that life.
    var release: (generation: Int, answer: Task<BlueZRelease?, Never>)?
    /// The program that was asked for its release last.
    var releaseOfProgram: (program: ProgramFile, release: BlueZRelease)?
    /// Counts how often each adapter appeared, and how often it was switched on.
    var appearances: [ObjectPath: Int] = [:]
    var powerUps: [ObjectPath: Int] = [:]
    /// Adapters that went with bluetoothd, or the bus, and have not come back with it as they were: whether they were
    /// on.
    var awaited: [BluetoothAddress: Bool] = [:]
    /// Adapters that appeared and whose power is still to be looked at.
    var unpowered: Set<ObjectPath> = []
    var observers: [Int: @Sendable (ObjectCache.Change) -> Void] = [:]
    var nextID = 0
    var registrations: [Int: SupervisedRegistration] = [:]
    /// Whether everything declared was in place when the supervisor last looked, and nothing was lost since.
    var isWhole = true
    var powerWishes: Set<BluetoothAddress> = []
    var discoveries: [BluetoothAddress: DiscoveryRegistration] = [:]
    var pairingWindows: Set<BluetoothAddress> = []
    /// The devices this session is pairing with by its own wish.
    var pairings: Set<ObjectPath> = []
    /// The devices whose links this session is ending, and how many of its parts do.
    var linkEnds: [ObjectPath: Int] = [:]
    /// How long to wait for a peer's answer before its link may be ended; `nil` for not at all.
    var requestPatience = Device.requestPatience
    var isClosed = false
  }

  let bus: Connection.Bus
  /// The release, when whoever opened the session knows it.
  let version: BlueZRelease?
  let logger: Logger
  let state = Lock(State())
  /// Agents and pairing windows that come and go: the end of one must not cross the beginning of the next.
  let pairingSteps = SerialQueue()
  /// Wakes the supervisor; one waiting wake-up is as good as many.
  let pokes: BoundedStream<Void>
  private let pokeSource: BoundedStream<Void>.Source

  init(bus: Connection.Bus, version: BlueZRelease?, logger: Logger) {
    self.bus = bus
    self.version = version
    self.logger = logger
    (pokes, pokeSource) = BoundedStream.make(of: Void.self, limit: 1)
  }

  func poke() { pokeSource.yield(()) }

  func close() {
    let (connection, changes) = state.withLock { state in
      state.isClosed = true
      state.isUp = false
      state.generation += 1
      state.cache.removeAll()
      defer { state.connection = nil }
      return (state.connection, Array(state.observers.values))
    }
    for change in changes { change(.serviceDown) }
    connection?.close()
    pokeSource.finish()
  }

  // MARK: The bus

  /// Connects, subscribes, and fills the cache if bluetoothd is there.
  func connect() async throws {
    let connection = try await BlueZError.naming("connecting to the bus") {
      try await Connection.open(bus, logger: logger)
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
            sender: Self.service, pathNamespace: "/org/bluez", interface: "org.freedesktop.DBus.Properties",
            member: "PropertiesChanged")
        ) { [weak self] in self?.apply($0) },
        try await connection.observe(
          MatchRule(
            sender: Self.service, pathNamespace: "/org/bluez", interface: Device.interface, member: "Disconnected")
        ) { [weak self] in self?.apply($0) },
      ]
    }
    let closed = state.withLock { state in
      guard !state.isClosed else { return true }
      state.connection = connection
      state.subscriptions = subscriptions
      return false
    }
    if closed {
      connection.close()
      throw BlueZError(.serviceUnavailable, "the session is closed")
    }
    await fill(connection)
  }

  /// Reads everything bluetoothd has; its being absent is no error, it may come later.
  private func fill(_ connection: Connection) async {
    do {
      try await connection.call(
        Self.service, "/", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", returning: "a{oa{sa{sv}}}",
        onArrival: { [weak self] in self?.filled($0[0], by: connection) })
    } catch {
      logger.info("bluetoothd does not answer", metadata: ["error": "\(error)"])
    }
  }

  private func filled(_ objects: Value, by connection: Connection) {
    var all: [ObjectPath: ObjectCache.Interfaces] = [:]
    for entry in objects.entries ?? [] {
      if let path = entry.key.objectPath { all[path] = entry.value.interfaces }
    }
    let observers = state.withLock { state -> [@Sendable (ObjectCache.Change) -> Void] in
      guard state.connection === connection else { return [] }
      state.cache.replaceAll(all)
      state.isUp = true
      for path in state.cache.paths(with: Adapter.interface) { state.adapterAppeared(path) }
      return Array(state.observers.values)
    }
    for observer in observers { observer(.serviceUp) }
    poke()
  }

  private func ownerChanged(_ change: NameOwnerChange) {
    if change.oldOwner != nil { serviceDown() }
    guard change.newOwner != nil, let connection = state.withLock({ $0.connection }) else { return }
    Task { await fill(connection) }
  }

  private func busLost() {
    state.withLock { state in
      state.connection = nil
      state.subscriptions = []
    }
    serviceDown()
    poke()
  }

  private func serviceDown() {
    let observers = state.withLock { state -> [@Sendable (ObjectCache.Change) -> Void] in
      guard !state.isClosed else { return [] }
      for path in state.cache.paths(with: Adapter.interface) { state.adapterWent(path) }
      state.cache.removeAll()
      state.isUp = false
      state.isWhole = false
      state.generation += 1
      return Array(state.observers.values)
    }
    for observer in observers { observer(.serviceDown) }
  }

  private func apply(_ signal: Signal) {
    let (change, observers) = state.withLock {
      state -> (ObjectCache.Change?, [@Sendable (ObjectCache.Change) -> Void]) in
      guard let change = state.cache.apply(signal) else { return (nil, []) }
      switch change {
      case .added(let path, let interfaces) where interfaces.contains(Adapter.interface):
        state.adapterAppeared(path)
      case .changed(let path, Adapter.interface, let changed, _) where changed["Powered"]?.bool == true:
        state.powerUps[path, default: 0] += 1
        state.adapterCameBack(path)
      default: break
      }
      return (change, Array(state.observers.values))
    }
    guard let change else { return }
    for observer in observers { observer(change) }
    switch change {
    case .added(_, let interfaces):
      // GattManager1 and LEAdvertisingManager1 come after Adapter1 itself.
      if interfaces.contains(where: { $0.hasPrefix("org.bluez.") && $0.hasSuffix("Manager1") }) { poke() }
      if interfaces.contains(Adapter.interface) { poke() }
    case .changed(_, Adapter.interface, let changed, _) where changed["Powered"] != nil: poke()
    default: break
    }
  }
}

extension SessionCore.State {
  mutating func adapterAppeared(_ path: ObjectPath) {
    appearances[path, default: 0] += 1
    unpowered.insert(path)
    adapterCameBack(path)
  }

  fileprivate mutating func adapterWent(_ path: ObjectPath) {
    guard let (address, isOn) = addressAndPower(of: path) else { return }
    awaited[address] = isOn || awaited[address] == true
  }

  /// It is here; where it was on it may take bluetoothd a moment more to switch it on.
  fileprivate mutating func adapterCameBack(_ path: ObjectPath) {
    guard let (address, isOn) = addressAndPower(of: path), isOn || awaited[address] == false else { return }
    awaited[address] = nil
  }

  private func addressAndPower(of path: ObjectPath) -> (BluetoothAddress, Bool)? {
    let properties = cache.properties(path, Adapter.interface)
    let isOn = properties?["Powered"]?.bool == true
    return properties?["Address"]?.string.flatMap(BluetoothAddress.init).map { ($0, isOn) }
  }
}
