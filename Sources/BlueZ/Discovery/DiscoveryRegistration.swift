import DBus
import Streams
import Timing

/// The one discovery of a session at an adapter, for all its scans.
final class DiscoveryRegistration: Registration {
  private struct State {
    var users: [Int: Adapter.DiscoveryFilter?] = [:]
    var nextUser = 0
    var id: Int?
    /// The number of connection attempts for which scanning is paused.
    var pauses = 0
    /// A Boolean value that indicates whether bluetoothd itself compares services.
    var comparesServices = false
    /// A Boolean value that indicates whether bluetoothd scans for this session, as far as it was requested.
    var isRunning = false
    /// A Boolean value that indicates whether bluetoothd scans for nobody else, as far as it is known.
    var isAlone = false
    var checks = Checks()
    /// The RSSI that distinguished the latest filter from the one before, see ``start(_:at:)``.
    var distinction: Int16?
    /// The instant from which on bluetoothd has taken over a filter that a running scan was given.
    var settled: SteadyClock.Instant?
  }

  /// The checks whether bluetoothd scans for another program.
  private struct Checks {
    var count = 0
    /// The instant from which on another one is due.
    var next = Duration.zero
    /// The devices that were received, and lack the services of the scan.
    var doubted: Set<ObjectPath> = []
    /// Those of them before the last start of the scan, if bluetoothd scanned for nobody else then.
    var forgetful: Set<ObjectPath> = []
    /// The instant until which that is taken for so: programs start to scan at any time.
    var trusted = Duration.zero

    mutating func conclude(isAlone: Bool, at now: Duration, trust: Duration) {
      forgetful = isAlone ? forgetful.union(doubted) : []
      doubted = []
      trusted = now + trust
    }
  }

  /// The devices that bluetoothd passes on while it scans for this session.
  enum Reception {
    /// Devices with any services.
    case unfiltered
    /// Devices with the services of a scan, and those that another program scans for.
    case shared
    /// Devices with the services of a scan.
    case filtered
  }

  let adapter: AdapterIdentity
  var place: RegistrationPlace { .adapter(adapter) }
  let manager = "org.bluez.Adapter1"
  let needsPower = true
  let order = 2
  var title: String { "discovery at \(adapter)" }

  private let core: SessionCore
  private let state = Lock(State())
  /// Serializes scans that start and stop.
  private let membership = SerialQueue()
  /// Serializes the calls of bluetoothd: a pause must not overtake a start.
  private let radio = SerialQueue()

  init(core: SessionCore, adapter: AdapterIdentity) {
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

  /// Returns which devices are received during a scan for services.
  func reception(for services: Set<BluetoothUUID>) -> Reception {
    state.withLock { state in
      let isFiltered = state.users.values.allSatisfy { filter in
        filter.map { !$0.services.isEmpty && $0.services.isSubset(of: services) } ?? true
      }
      // Before it scans, everything that is received is for others.
      guard state.isRunning, state.comparesServices, isFiltered else { return .unfiltered }
      return state.isAlone ? .filtered : .shared
    }
  }

  /// Returns `true` for a device whose list of services is not that of its advertisement.
  func isKnownToForget(_ device: ObjectPath) -> Bool {
    let now = TimeSource.continuous.now
    return state.withLock { $0.checks.forgetful.contains(device) && now < $0.checks.trusted }
  }

  /// Forgets a device that bluetoothd has removed: the next one at the path is another one.
  func forget(_ device: ObjectPath) {
    state.withLock { state in
      state.checks.doubted.remove(device)
      state.checks.forgetful.remove(device)
    }
  }

  /// The delays between checks: a scan pauses for up to ``noticeLimit`` for each while another program scans.
  private static let checkDelays = Backoff(base: .seconds(2), limit: .seconds(60))
  /// The time in which a device in range is received again: the kernel scans in rounds of up to 10 s (DISCOV_LE_TIMEOUT).
  private static let trust = Duration.seconds(15)
  /// The time after which bluetoothd has reported that it does not scan any more.
  private static let noticeLimit = Duration.seconds(1)

  /// Records that bluetoothd received a device that this session does not scan for, and finds out whether another program
  /// scans.
  ///
  /// bluetoothd reports that it scans, and not for whom: its report concerns others only while it does not scan for this
  /// session.
  func doubt(_ device: ObjectPath) {
    let now = TimeSource.continuous.now
    let isDue = state.withLock { state in
      state.isAlone = false
      state.checks.doubted.insert(device)
      guard now >= state.checks.next else { return false }
      state.checks.count += 1
      state.checks.next = now + Self.checkDelays.delay(afterFailures: state.checks.count, random: 0)
      return true
    }
    guard isDue else { return }
    radio.enqueue { [self] in await check() }
  }

  private func check() async {
    guard state.withLock({ $0.isRunning && !$0.isAlone && $0.pauses == 0 }), let path = core.path(of: adapter) else {
      return
    }
    do {
      try await stop(at: path)
      do {
        try await core.wait("waiting for the end of a scan", Self.noticeLimit) { state in
          state.cache.properties(path, Adapter.interface)?["Discovering"]?.bool != true ? () : nil
        }
      } catch let error as BlueZError where error.code == .timedOut {
        core.logger.debug("another program scans at \(adapter)")
      }
      try await start(try core.connection(), at: path)
    } catch {
      if core.state.withLock({ $0.isClosed }) { return }
      core.logger.info("restarting \(title) failed", metadata: ["error": "\(error)"])
      core.dropped(self)
    }
  }

  /// Scanning stops in the queue of the radio, see ``remove(_:)``.
  var undoing: Undoing { Undoing { _, _ in } }

  /// Adds a scan and returns when bluetoothd scans for it. When the task is cancelled, ``remove(_:)`` must follow.
  func add(_ user: Int, _ filter: Adapter.DiscoveryFilter) async throws {
    let known = state.withLock { state in
      guard state.users[user] != nil else { return false }
      state.users[user] = filter
      return true
    }
    guard known else { throw CancellationError() }
    try await membership.runUnlessCancelled { [self] in
      guard state.withLock({ $0.users[user] != nil }) else { throw CancellationError() }
      if state.withLock({ $0.id }) == nil {
        let id = try await core.register(self)
        state.withLock { $0.id = id }
        // A pause that was found while registering may have ended before there was a registration to resume.
        _ = await radio.enqueue { [self] in await adjust() }.result
      } else {
        // The running discovery takes the wider filter at once.
        let (connection, life) = try await core.whenReady(for: self)
        try await radio.run { [self] in
          try await BlueZError.naming("widening \(title)") { try await changeFilter(connection, at: life.path) }
        }
      }
    }
  }

  /// Removes a scan: the discovery narrows to the filters of the others, or stops with the last one.
  func remove(_ user: Int) {
    state.withLock { $0.users[user] = nil }
    membership.enqueue { [self] in
      let (id, isLast) = state.withLock { state -> (Int?, Bool) in
        guard state.users.isEmpty else { return (nil, false) }
        defer { state.id = nil }
        return (state.id, true)
      }
      do {
        // After a restoration that is under way, which would start the scan again.
        try await core.takeDown(id)
        try await radio.run { [self] in
          guard state.withLock({ $0.isRunning }), let path = core.path(of: adapter) else { return }
          if isLast { try await stop(at: path) } else { try await changeFilter(try core.connection(), at: path) }
        }
      } catch {
        core.logger.debug("\(isLast ? "stopping" : "narrowing") \(title) failed", metadata: ["error": "\(error)"])
      }
    }
  }

  /// Stops scanning until `resume`: many controllers abort a connection attempt while they scan.
  func pause() async {
    state.withLock { $0.pauses += 1 }
    _ = await radio.enqueue { [self] in await adjust() }.result
  }

  /// Ends one `pause`; returns at once.
  func resume() {
    state.withLock { $0.pauses -= 1 }
    radio.enqueue { [self] in await adjust() }
  }

  /// Starts or stops scanning according to the state at its turn.
  private func adjust() async {
    let (isWanted, isRunning) = state.withLock { ($0.id != nil && $0.pauses == 0, $0.isRunning) }
    guard isWanted != isRunning, let path = core.path(of: adapter) else { return }
    do {
      if isWanted { try await start(try core.connection(), at: path) } else { try await stop(at: path) }
    } catch {
      // A session that ended meanwhile has ended its scan, too.
      if core.state.withLock({ $0.isClosed }) { return }
      // Connecting works without the pause, too, though less reliably; the supervisor restores a scan that failed.
      core.logger.info("\(isWanted ? "resuming" : "pausing") \(title) failed", metadata: ["error": "\(error)"])
      core.dropped(self)
    }
  }

  func establish(on connection: Connection, at path: ObjectPath) async throws {
    // What was found out about devices of an earlier instance of bluetoothd concerns others.
    state.withLock { $0.checks = Checks() }
    try await radio.run { [self] in
      guard state.withLock({ !$0.users.isEmpty && $0.pauses == 0 }) else {
        // Not of an earlier instance of the adapter, which ended with it, but of a call whose outcome is unknown.
        if state.withLock({ $0.isRunning }) { try await stop(at: path) }
        return
      }
      try await start(connection, at: path)
    }
  }

  private func start(_ connection: Connection, at path: ObjectPath) async throws {
    try await setFilter(connection, at: path)
    // After a reply, when the cache is as new as it.
    let isScanning = core.property(path, Adapter.interface, "Discovering")?.bool == true
    let now = TimeSource.continuous.now
    state.withLock { state in
      state.isAlone = !isScanning
      state.checks.conclude(isAlone: !isScanning, at: now, trust: Self.trust)
    }
    // When a scan could not be stopped because its kernel was restarting it, bluetoothd goes on saying that it scans, and
    // answers StartDiscovery without a scan if the filter is the one it had (`stop_discovery_complete` and
    // `update_discovery_filter`, src/adapter.c; seen with 5.66).
    if isScanning { try await setFilter(connection, at: path, isDistinct: true) }
    do {
      try await request(connection, at: path)
    } catch let error as DBusError where error.name == "org.bluez.Error.InProgress" {
      // bluetoothd assumes that this connection scans already, or the kernel still runs a scan of a bluetoothd that was
      // killed: stop and start again; if that does not suffice, the supervisor retries later.
      try await stop(at: path)
      await endStrayScan(at: path)
      do {
        try await request(connection, at: path)
      } catch let error as DBusError where error.name == "org.bluez.Error.InProgress" {
        throw BlueZError(
          .inProgress, "starting \(title)",
          hint: "another program is starting or stopping a scan; try again in a few seconds",
          underlying: error)
      }
    }
    // A filter by RSSI passes on nothing whose RSSI the controller does not measure (`is_filter_match`,
    // net/bluetooth/mgmt.c of Linux).
    if isScanning { try await changeFilter(connection, at: path) }
  }

  private func request(_ connection: Connection, at path: ObjectPath) async throws {
    // Also while the outcome is unknown, so that the scan is stopped in any case.
    state.withLock { $0.isRunning = true }
    do {
      try await connection.call(SessionCore.service, path, Adapter.interface, "StartDiscovery", returning: "")
    } catch let error as DBusError where error.name.hasPrefix("org.bluez.Error.") {
      state.withLock { $0.isRunning = false }
      throw error
    }
  }

  private func stop(at path: ObjectPath) async throws {
    if let settled = state.withLock({ $0.settled }) { try await Task.sleep(until: settled, clock: .steady) }
    for attempt in 1... {
      do {
        try await core.call(path, Adapter.interface, "StopDiscovery", doing: "stopping \(title)")
        break
      } catch let error as BlueZError where Self.notRunning.contains(error.code) {
        core.logger.debug("no discovery to stop", metadata: ["error": "\(error)"])
        break
      } catch let error as BlueZError where error.code == .inProgress && attempt < 20 {
        // A round of the kernel's scan is just starting or ending, and bluetoothd continues with the next one: without
        // another attempt it would scan for ever.
        try await Task.sleep(for: .milliseconds(100), clock: .steady)
      }
    }
    state.withLock { $0.isRunning = false }
  }

  /// The errors with which bluetoothd replies when it does not scan: it was never requested, or the radio or bluetoothd
  /// is gone.
  private static let notRunning: Set<BlueZError.Code> = [.failed, .notPowered, .staleHandle, .serviceUnavailable]

  /// Ends a scan that the kernel continues for up to 10 s (DISCOV_LE_TIMEOUT) without bluetoothd.
  private func endStrayScan(at path: ObjectPath) async {
    guard core.property(path, Adapter.interface, "Discovering")?.bool != true,
      let index = path.controllerIndex
    else { return }
    do {
      try await core.kernel.openManagement().stopDiscovery(of: index)
    } catch {
      core.logger.debug("no scan of the kernel to end", metadata: ["error": "\(error)"])
    }
  }

  /// The time that bluetoothd and the controller need to restart a scan with another filter. A scan that is stopped
  /// meanwhile is one that bluetoothd believes in for ever.
  private static let settling = Duration.milliseconds(200)

  /// Changes the filter of a scan that runs.
  private func changeFilter(_ connection: Connection, at path: ObjectPath) async throws {
    try await setFilter(connection, at: path)
    let settled = SteadyClock().now + Self.settling
    state.withLock { $0.settled = settled }
  }

  /// Values that no radio measures, so that a filter by them has every device.
  private static let distinctions = Int16(-127)...(-120)

  /// - Parameter isDistinct: `true` for a filter that is not the one before, nor probably that of another program.
  private func setFilter(_ connection: Connection, at path: ObjectPath, isDistinct: Bool = false) async throws {
    // bluetoothd of an unknown release may be the one that a filter by service crashes.
    let byService = await core.release()?.has(.filtersByService) ?? false
    let filters = state.withLock { state in
      state.comparesServices = byService
      return state.users.values.compactMap { $0 }
    }
    var options = Adapter.DiscoveryFilter.options(serving: filters, byService: byService)
    if isDistinct {
      let distinction = state.withLock { state in
        let value = Self.distinctions.filter { $0 != state.distinction }.randomElement()
        state.distinction = value
        return value
      }
      // bluetoothd accepts only one of the two.
      options["Pathloss"] = nil
      options["RSSI"] = distinction.map(Value.int16)
    }
    try await connection.call(
      SessionCore.service, path, Adapter.interface, "SetDiscoveryFilter", [.properties(options)], returning: "")
  }
}

extension SessionCore {
  /// Returns the discovery that all scans of an adapter share.
  func sharedDiscovery(of adapter: AdapterIdentity) -> DiscoveryRegistration {
    state.withLock { state in
      if let known = state.registry.discoveries[adapter] as? DiscoveryRegistration { return known }
      let new = DiscoveryRegistration(core: self, adapter: adapter)
      state.registry.discoveries[adapter] = new
      return new
    }
  }

  /// Returns the discovery of the adapter at an object; `nil` if this session never scanned there.
  func discovery(at path: ObjectPath) -> DiscoveryRegistration? {
    state.withLock { state in
      state.registry.discoveries.first { state.isObject(path, of: $0.key) }?.value as? DiscoveryRegistration
    }
  }
}
