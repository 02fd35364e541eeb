import DBus

/// The one discovery a session runs at an adapter for all its scans.
final class DiscoveryRegistration: Registration {
  private struct State {
    var users: [Int: Adapter.DiscoveryFilter?] = [:]
    var nextUser = 0
    var id: Int?
    /// How many connection attempts want the radio for themselves.
    var pauses = 0
  }

  let adapter: BluetoothAddress
  var place: RegistrationPlace { .adapter(adapter) }
  let manager = "org.bluez.Adapter1"
  let needsPower = true
  let order = 2
  var title: String { "discovery at \(adapter)" }

  private let core: SessionCore
  private let state = Lock(State())
  /// Scans that come and go, one after the other.
  private let membership = SerialQueue()
  /// What bluetoothd is told, one after the other: a pause must not cross a start.
  private let radio = SerialQueue()

  init(core: SessionCore, adapter: BluetoothAddress) {
    self.core = core
    self.adapter = adapter
  }

  func newUser() -> Int {
    state.withLock { state in
      state.nextUser += 1
      state.users[state.nextUser] = .some(nil)
      return state.nextUser
    }
  }

  /// Counts a scan in and returns when bluetoothd scans for it.
  func add(_ user: Int, _ filter: Adapter.DiscoveryFilter) async throws {
    let known = state.withLock { state in
      guard state.users[user] != nil else { return false }
      state.users[user] = filter
      return true
    }
    guard known else { throw CancellationError() }
    try await membership.run { [self] in
      if state.withLock({ $0.id }) == nil {
        let id = try await core.register(self)
        state.withLock { $0.id = id }
      } else if let path = Adapter.path(of: adapter, core) {
        // The running discovery takes the wider filter at once.
        try await radio.run { [self] in try await setFilter(try core.connection(), at: path) }
      }
    }
  }

  /// Counts a scan out; the last one stops the discovery.
  func remove(_ user: Int) {
    let last = state.withLock { state in
      state.users[user] = nil
      return state.users.isEmpty
    }
    guard last else { return }
    Task {
      do {
        try await membership.run { [self] in try await stopIfUnused() }
      } catch {
        core.logger.debug("stopping \(title) failed", metadata: ["error": "\(error)"])
      }
    }
  }

  private func stopIfUnused() async throws {
    let id = state.withLock { state -> Int? in
      guard state.users.isEmpty else { return nil }
      defer { state.id = nil }
      return state.id
    }
    guard let id, let (_, path) = core.unregister(id) else { return }
    try await radio.run { [self] in
      try await core.call(path, Adapter.interface, "StopDiscovery", doing: "stopping \(title)")
    }
  }

  /// Stops scanning until `resume`: many controllers abort a connection that is being made while they scan.
  func pause() async {
    let first = state.withLock { state in
      state.pauses += 1
      return state.pauses == 1
    }
    guard first else { return }
    await tellIfRunning("pausing") { core, path in
      try await core.call(path, Adapter.interface, "StopDiscovery", doing: "pausing discovery")
    }
  }

  /// Undoes one `pause`; returns at once.
  func resume() {
    let last = state.withLock { state in
      state.pauses -= 1
      return state.pauses == 0
    }
    guard last else { return }
    Task {
      await tellIfRunning("resuming") { [self] core, path in
        try await start(try core.connection(), at: path)
      }
    }
  }

  private func tellIfRunning(
    _ what: String, _ body: @escaping @Sendable (SessionCore, ObjectPath) async throws -> Void
  ) async {
    do {
      try await radio.run { [self] in
        guard state.withLock({ $0.id != nil }), let path = Adapter.path(of: adapter, core) else { return }
        try await body(core, path)
      }
    } catch {
      // Connecting works without the pause too, if less surely; and a scan that cannot go on is the supervisor's.
      core.logger.info("\(what) \(title) failed", metadata: ["error": "\(error)"])
      core.lost(self)
    }
  }

  func establish(on connection: Connection, at path: ObjectPath) async throws {
    try await radio.run { [self] in try await start(connection, at: path) }
  }

  private func start(_ connection: Connection, at path: ObjectPath) async throws {
    // `resume` comes back to it.
    guard state.withLock({ $0.pauses == 0 }) else { return }
    try await setFilter(connection, at: path)
    do {
      try await connection.call(SessionCore.service, path, Adapter.interface, "StartDiscovery", returning: "")
    } catch let error as DBusError where error.name == "org.bluez.Error.InProgress" {
      // bluetoothd believes this connection scans already, or the kernel still ends a scan of its predecessor's:
      // start over, and if that is not enough, the supervisor tries again later.
      do {
        try await connection.call(SessionCore.service, path, Adapter.interface, "StopDiscovery", returning: "")
      } catch let second as DBusError where second.name == "org.bluez.Error.Failed" {
        core.logger.debug("no discovery to stop", metadata: ["error": "\(second)"])
      }
      try await connection.call(SessionCore.service, path, Adapter.interface, "StartDiscovery", returning: "")
    }
  }

  private func setFilter(_ connection: Connection, at path: ObjectPath) async throws {
    let filters = state.withLock { $0.users.values.compactMap { $0 } }
    let options = Adapter.DiscoveryFilter.options(serving: filters)
    try await connection.call(
      SessionCore.service, path, Adapter.interface, "SetDiscoveryFilter", [.properties(options)], returning: "")
  }
}
