import DBus
import Streams
import Timing

/// A running LE advertisement, which ends with this object, with ``stop()``, or after its timeout.
///
/// Several may run at once, as many as ``AdvertisingCapabilities/freeInstances`` permits; the controller takes turns.
///
/// ```swift
/// let advertisement = try await adapter.advertise(.init(name: "Lamp", services: ["180f"]))
/// if !advertisement.fallbacks.isEmpty { print("left out:", advertisement.fallbacks) }
/// try await Task.sleep(for: .seconds(60))
/// try await advertisement.stop()
/// ```
public final class Advertisement: Registration {
  static let interface = "org.bluez.LEAdvertisement1"

  /// The requested content; ``fallbacks`` lists the parts that are left out, and ``update(_:)`` changes it.
  public var content: Content { state.withLock { $0.content } }
  /// The requested parameters; ``fallbacks`` lists those that are not applied.
  public let parameters: Parameters
  let place: RegistrationPlace
  let manager = "org.bluez.LEAdvertisingManager1"
  let needsPower = true
  let order = 1
  var title: String { "the advertisement\(content.name.map { " '\($0)'" } ?? "")" }

  private let session: Session
  private let path: ObjectPath
  private let deadline: ContinuousClock.Instant?
  private let state: Lock<State>

  private struct State {
    var content: Content
    var id: Int?
    var entry: ForwardingRegistration?
    var object: ExportedObject?
    var plan: AdvertisementPlan?
    /// Makes a plan of another content for the bluetoothd and the adapter that have this one.
    var replan: (@Sendable (Content) throws -> AdvertisementPlan)?
    var txPower: Int?
    var isRunning = true
  }

  private static let paths = ObjectPathCounter("advertisement")

  init(session: Session, adapter: AdapterIdentity, content: Content, parameters: Parameters) {
    self.session = session
    place = .adapter(adapter)
    state = Lock(State(content: content))
    self.parameters = parameters
    deadline = parameters.timeout.map { SteadyClock.steady.now + $0 }
    path = Self.paths.next()
  }

  deinit {
    session.core.takeDownQuietly(end())
  }

  /// The fallbacks that were necessary, in the order in which they were applied. The list may change when bluetoothd
  /// restarts.
  public var fallbacks: [Fallback] { state.withLock { $0.plan?.fallbacks ?? [] } }

  /// The transmit power that the controller chose, in dBm; `nil` when none was requested, or it is not reported.
  public var txPower: Int? { state.withLock { $0.txPower } }

  /// A Boolean value that indicates whether the advertisement is declared; `false` after ``stop()`` and after its
  /// timeout.
  public var isRunning: Bool { state.withLock { $0.isRunning } }

  func start() async throws {
    let entry = ForwardingRegistration(self)
    state.withLock { $0.entry = entry }
    let id = try await session.core.register(entry)
    let isRunning = state.withLock { state in
      state.id = id
      return state.isRunning
    }
    // Its timeout has passed meanwhile.
    if !isRunning { giveUp() }
  }

  /// Stops the advertisement and unregisters it. Where bluetoothd, the adapter or the advertisement is gone there is
  /// nothing to stop.
  /// - Throws: ``BlueZError`` when bluetoothd refuses.
  public func stop() async throws {
    try await session.core.takeDown(end())
  }

  /// Changes the content in place: the advertisement stays on the air, and a restoration has the new content.
  ///
  /// ```swift
  /// let beacon = try await adapter.advertise(.init(manufacturerData: [0xffff: [0]], isConnectable: false))
  /// for count in 1...UInt8.max {
  ///   try await Task.sleep(for: .seconds(1))
  ///   try beacon.update(.init(manufacturerData: [0xffff: [count]], isConnectable: false))
  /// }
  /// ```
  /// bluetoothd takes the changes one element after the other, and does not report it when the controller refuses one.
  /// - Parameter content: The content from now on, with the same ``Content/isConnectable``.
  /// - Throws: ``BlueZError``: `.advertisementTooLong` and `.notSupported` as ``Adapter/advertise(_:_:)``;
  ///   `.invalidArgument` for a content that is connectable where the former was not, or the reverse, and for an
  ///   advertisement that has ended; `.serviceUnavailable` when the bus is gone.
  public func update(_ content: Content) throws {
    let title = title
    let replan = try state.withLock { state in
      guard state.isRunning else { throw BlueZError(.invalidArgument, "\(title) has ended") }
      guard state.content.isConnectable == content.isConnectable else {
        throw BlueZError(
          .invalidArgument, "\(title) cannot become \(content.isConnectable ? "" : "not ")connectable",
          hint: "stop it, and start another")
      }
      return state.replan
    }
    let plan = try replan?(content)
    let (object, signals) = state.withLock { state in
      state.content = content
      // bluetoothd reads it for the first time, and is told of the change afterwards.
      guard let plan else { return (state.object, [] as [AdvertisementChange.PropertiesChanged]) }
      defer { state.plan = plan }
      return (state.object, AdvertisementChange(from: state.plan, to: plan).signals)
    }
    for signal in signals {
      do {
        try object?.emitPropertiesChanged(Self.interface, signal.changed, invalidated: signal.invalidated)
      } catch let error as DBusError {
        throw BlueZError(error, while: "changing \(title)")
      }
    }
  }

  var undoing: Undoing { Undoing(manager, "UnregisterAdvertisement", path, title) }

  /// - Returns: The identifier to unregister the advertisement with.
  private func end() -> Int? {
    state.withLock { state in
      defer { state.id = nil }
      state.isRunning = false
      return state.id
    }
  }

  /// Removes the advertisement from the registry: its timeout has passed, and bluetoothd does not have it.
  private func giveUp() {
    if let id = end() { session.core.forget(id) }
  }

  func establish(on connection: Connection, at adapter: ObjectPath) async throws {
    let remaining = deadline.map { SteadyClock.steady.now.duration(to: $0) }
    // The timeout may have passed while bluetoothd was not running.
    if let remaining, remaining <= .zero { return giveUp() }
    let capabilities = AdvertisingCapabilities(
      session.core.state.withLock { $0.cache.properties(adapter, manager) } ?? [:])
    // Monitors exist only under `bluetoothd -E`, which cannot be recognized otherwise.
    let isExperimental =
      session.core.state.withLock { $0.cache.properties(adapter, "org.bluez.AdvertisementMonitorManager1") } != nil
    let version = await session.version()
    let parameters = parameters
    let replan: @Sendable (Content) throws -> AdvertisementPlan = {
      try AdvertisementPlan($0, parameters, on: capabilities, version, isExperimental: isExperimental)
    }
    let content = content
    var plan = try replan(content)
    while true {
      do {
        state.withLock { $0.plan = plan }
        try await register(plan, remaining, on: connection, at: adapter)
        let newest = state.withLock { state in
          state.replan = replan
          return state.content
        }
        // It was changed while bluetoothd read it.
        if newest != content { try update(newest) }
        return
      } catch let error as DBusError where error.name == "org.bluez.Error.Failed" {
        guard let next = plan.next() else { throw error }
        session.core.logger.info(
          "bluetoothd refused \(title); trying the next fallback", metadata: ["error": "\(error)"])
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
    // bluetoothd reads the properties only once, so each attempt exports a new object.
    state.withLock { $0.object = nil }
    let object = try connection.export(
      path,
      [
        plan.interface(
          remaining: remaining,
          content: { [weak self] name in self?.state.withLock { $0.plan }?.contentProperties[name] },
          chosen: { [weak self] power in self?.state.withLock { $0.txPower = power } },
          released: { [weak self] in self?.released() })
      ])
    state.withLock { $0.object = object }
    do {
      try await call("RegisterAdvertisement", .properties([:]))
    } catch let error as DBusError where error.name == "org.bluez.Error.AlreadyExists" {
      // bluetoothd kept it during a power cycle, but the controller lost it: register again.
      try await call("UnregisterAdvertisement")
      try await call("RegisterAdvertisement", .properties([:]))
    }
  }

  /// bluetoothd ended the advertisement: its timeout has passed, or the adapter was removed or reset. In the latter
  /// case the supervisor restores it.
  private func released() {
    // bluetoothd's timer started a moment later and counts whole seconds.
    if let deadline, SteadyClock.steady.now.duration(to: deadline) < .seconds(1) {
      giveUp()
    } else if let entry = state.withLock({ $0.entry }) {
      session.core.dropped(entry)
    }
  }
}

extension Adapter {
  /// Starts an advertisement, which runs until the returned object is released or stopped.
  ///
  /// The advertisement is declared: after a restart of bluetoothd, a power cycle or a replug it is registered again,
  /// for the rest of its timeout.
  /// - Parameters:
  ///   - content: The content to advertise.
  ///   - parameters: The parameters, and the fallbacks that are permitted.
  /// - Throws: ``BlueZError``: `.advertisementTooLong` and `.invalidArgument` before anything is sent, `.notSupported`
  ///   when this bluetoothd or adapter does not support something for which no fallback is permitted, `.notPowered`,
  ///   `.notPermitted` when all advertising instances of the adapter are in use, `.noAdapter`, `.serviceUnavailable`.
  public func advertise(
    _ content: Advertisement.Content, _ parameters: Advertisement.Parameters = Advertisement.Parameters()
  ) async throws -> Advertisement {
    let advertisement = Advertisement(session: session, adapter: identity, content: content, parameters: parameters)
    try await advertisement.start()
    return advertisement
  }
}
