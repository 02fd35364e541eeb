import DBus
import Streams
import Timing

/// A running LE advertisement; it ends with this object, with ``stop()``, or after its timeout.
///
/// There may be several: as many as ``AdvertisingCapabilities/freeInstances`` says. One radio takes turns.
public final class Advertisement: Registration {
  static let interface = "org.bluez.LEAdvertisement1"

  /// What is wished to be advertised; ``fallbacks`` says what of it is not.
  public let content: Content
  /// How it is wished to be advertised.
  public let parameters: Parameters
  let place: RegistrationPlace
  let manager = "org.bluez.LEAdvertisingManager1"
  let needsPower = true
  let order = 1
  var title: String { "the advertisement\(content.name.map { " '\($0)'" } ?? "")" }

  private let session: Session
  private let path: ObjectPath
  private let deadline: ContinuousClock.Instant?
  private let state = Lock(State())

  private struct State {
    var id: Int?
    var entry: ForwardingRegistration?
    var object: ExportedObject?
    var plan: AdvertisementPlan?
    var txPower: Int?
    var isRunning = true
  }

  private static let counter = Lock(0)

  init(session: Session, adapter: BluetoothAddress, content: Content, parameters: Parameters) {
    self.session = session
    place = .adapter(adapter)
    self.content = content
    self.parameters = parameters
    deadline = parameters.timeout.map { SteadyClock.steady.now + $0 }
    let number = Self.counter.withLock { counter in
      counter += 1
      return counter
    }
    path = ObjectPath(stringLiteral: "/org/edgeblue/advertisement\(number)")
  }

  deinit {
    let core = session.core
    let id = end()
    let placement = placement
    Task { await core.takeDownQuietly(id, placement) }
  }

  /// What was given up for it to be there, in this order; it may be less or more after bluetoothd's restart.
  public var fallbacks: [Fallback] { state.withLock { $0.plan?.fallbacks ?? [] } }

  /// The power the controller chose, in dBm; `nil` when none was wished, or it does not tell.
  public var txPower: Int? { state.withLock { $0.txPower } }

  /// Whether it is declared; not any more after ``stop()`` and its timeout.
  public var isRunning: Bool { state.withLock { $0.isRunning } }

  func start() async throws {
    let entry = ForwardingRegistration(self)
    state.withLock { $0.entry = entry }
    let id = try await session.core.register(entry)
    state.withLock { $0.id = id }
  }

  /// Ends the advertisement. Where it, the adapter or bluetoothd is gone there is nothing to end.
  /// - Throws: ``BlueZError`` when bluetoothd refuses.
  public func stop() async throws {
    try await session.core.takeDown(end(), placement)
  }

  private var placement: Placement {
    Placement(manager: manager, member: "UnregisterAdvertisement", object: path, title: title)
  }

  /// - Returns: the number to give it up with.
  private func end() -> Int? {
    state.withLock { state in
      defer { state.id = nil }
      state.isRunning = false
      return state.id
    }
  }

  /// Its time is over, and bluetoothd does not have it.
  private func giveUp() {
    if let id = end() { _ = session.core.unregister(id) }
  }

  func establish(on connection: Connection, at adapter: ObjectPath) async throws {
    let remaining = deadline.map { SteadyClock.steady.now.duration(to: $0) }
    // It may have run out while bluetoothd was away.
    if let remaining, remaining <= .zero { return giveUp() }
    let capabilities = AdvertisingCapabilities(
      session.core.state.withLock { $0.cache.properties(adapter, manager) } ?? [:])
    // Monitors are there only under `bluetoothd -E`, and it has no other way to tell.
    let isExperimental =
      session.core.state.withLock { $0.cache.properties(adapter, "org.bluez.AdvertisementMonitorManager1") } != nil
    var plan = try AdvertisementPlan(
      content, parameters, on: capabilities, await session.version(), isExperimental: isExperimental)
    while true {
      do {
        try await register(plan, remaining, on: connection, at: adapter)
        return state.withLock { $0.plan = plan }
      } catch let error as DBusError where error.name == "org.bluez.Error.Failed" {
        guard let next = plan.next() else { throw error }
        session.core.logger.info("bluetoothd refuses \(title); trying with less", metadata: ["error": "\(error)"])
        plan = next
      }
    }
  }

  private func register(
    _ plan: AdvertisementPlan, _ remaining: Duration?, on connection: Connection, at adapter: ObjectPath
  ) async throws {
    func call(_ member: String, _ more: Value...) async throws {
      try await connection.call(
        SessionCore.service, adapter, manager, member, [.objectPath(path)] + more, returning: "")
    }
    // bluetoothd reads the properties once, so each attempt has an object of its own.
    state.withLock { $0.object = nil }
    let object = try connection.export(
      path,
      [
        plan.interface(
          remaining: remaining, chosen: { [weak self] power in self?.state.withLock { $0.txPower = power } },
          released: { [weak self] in self?.released() })
      ])
    state.withLock { $0.object = object }
    do {
      try await call("RegisterAdvertisement", .properties([:]))
    } catch let error as DBusError where error.name == "org.bluez.Error.AlreadyExists" {
      // Kept over a power cycle by bluetoothd, but the controller has forgotten it: once more from the start.
      try await call("UnregisterAdvertisement")
      try await call("RegisterAdvertisement", .properties([:]))
    }
  }

  /// bluetoothd ended it: because its time is over, or the adapter went away or was reset; the supervisor puts it back.
  private func released() {
    // bluetoothd's clock counts from a moment after ours and in whole seconds.
    if let deadline, SteadyClock.steady.now.duration(to: deadline) < .seconds(1) {
      giveUp()
    } else if let entry = state.withLock({ $0.entry }) {
      session.core.dropped(entry)
    }
  }
}

extension Adapter {
  /// Advertises, until the returned object is given up.
  ///
  /// It is declared: after a restart of bluetoothd, a power cycle or a replug it is registered again, for what is left
  /// of its time.
  /// - Parameters:
  ///   - content: what to advertise.
  ///   - parameters: how; what may be given up of that, and of the content, is among them.
  /// - Throws: ``BlueZError``: `.advertisementTooLong` and `.invalidArgument` before anything is sent, `.notSupported`
  ///   when this bluetoothd or adapter has not what is wished and it must not be given up, `.notPowered`,
  ///   `.notPermitted` when all of the adapter's advertising instances are taken, `.noAdapter`, `.serviceUnavailable`.
  public func advertise(
    _ content: Advertisement.Content, _ parameters: Advertisement.Parameters = Advertisement.Parameters()
  ) async throws -> Advertisement {
    let advertisement = Advertisement(session: session, adapter: address, content: content, parameters: parameters)
    try await advertisement.start()
    return advertisement
  }
}
