internal import DBus
public import Streams

/// A passive monitor for advertisements without an active scan, which ends with this object or with ``stop()``.
///
/// The adapter scans passively and requests no scan responses. Where the controller can monitor by itself, the host may
/// sleep meanwhile. The monitor is declared: after a restart of bluetoothd, a power cycle or a replug it is registered
/// again.
///
/// ```swift
/// let lamp = AdvertisementPattern.manufacturerData(0xffff, beginsWith: [1])
/// let monitor = try await adapter.monitor(.init(patterns: [lamp], thresholds: .init(high: -60, low: -80)))
/// for await case .found(let device) in monitor.events { print(device, "is in range") }
/// ```
public final class AdvertisementMonitor: Registration {
  static let interface = "org.bluez.AdvertisementMonitor1"

  /// An event of an advertisement monitor.
  public enum Event: Sendable, Hashable {
    /// A matching device is in range; without thresholds this comes with every advertisement that bluetoothd receives.
    case found(Device)
    /// A device is out of range or no longer received.
    case lost(Device)
  }

  /// The conditions of the monitor.
  public let content: Content
  /// The events of the monitor; when the stream is full the oldest are dropped.
  public let events: BoundedStream<Event>

  let place: RegistrationPlace
  let manager = "org.bluez.AdvertisementMonitorManager1"
  let needsPower = true
  let order = 2
  let title = "the advertisement monitor"

  private let session: Session
  private let root: ObjectPath
  private let source: BoundedStream<Event>.Source
  private let state = Lock(State())

  private struct State {
    var id: Int?
    var entry: ForwardingRegistration?
    /// The observation of the session's end.
    var ending: Int?
    var objects: [ExportedObject] = []
    /// The place where bluetoothd's acceptance or rejection is awaited.
    var verdict: BoundedStream<Bool>.Source?
  }

  private static let paths = ObjectPathCounter("monitor")

  init(session: Session, adapter: AdapterIdentity, content: Content, limit: Int) {
    self.session = session
    self.content = content
    place = .adapter(adapter)
    (events, source) = BoundedStream.make(of: Event.self, limit: limit)
    root = Self.paths.next()
  }

  deinit {
    source.finish()
    let (id, ending) = state.withLock { ($0.id, $0.ending) }
    if let ending { session.core.stopObserving(ending) }
    session.core.takeDownQuietly(id)
  }

  func start() async throws {
    let entry = ForwardingRegistration(self)
    let ending = session.core.onClose { [source] in source.finish() }
    state.withLock { state in
      state.entry = entry
      state.ending = ending
    }
    let id = try await session.core.register(entry)
    state.withLock { $0.id = id }
  }

  var undoing: Undoing { Undoing(manager, "UnregisterMonitor", root, title) }

  /// Stops the monitor and finishes ``events``. Where bluetoothd, the adapter or the monitor is gone there is nothing
  /// to stop.
  /// - Throws: ``BlueZError`` when bluetoothd refuses.
  public func stop() async throws {
    let id = state.withLock { $0.id.take() }
    source.finish()
    defer { state.withLock { $0.objects = [] } }
    try await session.core.takeDown(id)
  }

  func establish(on connection: Connection, at adapter: ObjectPath) async throws {
    do {
      try await register(on: connection, at: adapter)
    } catch let error as DBusError where error.name == "org.bluez.Error.AlreadyExists" {
      // bluetoothd kept it during a power cycle, but the controller lost it: register again.
      try await call("UnregisterMonitor", on: connection, at: adapter)
      try await register(on: connection, at: adapter)
    }
  }

  private func register(on connection: Connection, at adapter: ObjectPath) async throws {
    // New objects each time: they must not receive the Release of an earlier registration.
    state.withLock { $0.objects = [] }
    let (verdicts, source) = BoundedStream.make(of: Bool.self, limit: 1, policy: .dropNewest)
    let objects = [
      try connection.export(root, objectManager: true),
      try connection.export(try root.appending("watch"), [interface()]),
    ]
    state.withLock { state in
      state.objects = objects
      state.verdict = source
    }
    defer { state.withLock { $0.verdict = nil } }
    try await call("RegisterMonitor", on: connection, at: adapter)
    // The reply only means that the objects were read; acceptance arrives as a call of their methods.
    let isActive = try await withTimeout(.seconds(5), "activating \(title)") {
      for await verdict in verdicts { return verdict }
      throw CancellationError()
    }
    guard isActive else {
      throw BlueZError(.notSupported, "bluetoothd rejected \(title)", hint: "the log of bluetoothd has the reason")
    }
  }

  private func call(_ member: String, on connection: Connection, at adapter: ObjectPath) async throws {
    try await connection.call(SessionCore.service, adapter, manager, member, [.objectPath(root)], returning: "")
  }

  private func interface() -> Interface {
    var properties: [Interface.Property] = [
      .init("Type", "or_patterns"),
      .init(
        "Patterns",
        .array(
          of: "(yyay)",
          content.patterns.map { .structure([.byte(UInt8($0.start)), .byte($0.type), .bytes($0.bytes)]) })),
    ]
    if let thresholds = content.thresholds {
      properties += [
        .init("RSSIHighThreshold", .int16(Int16(thresholds.high))),
        .init("RSSIHighTimeout", .uint16(UInt16(thresholds.highTimeout.components.seconds))),
        .init("RSSILowThreshold", .int16(Int16(thresholds.low))),
        .init("RSSILowTimeout", .uint16(UInt16(thresholds.lowTimeout.components.seconds))),
      ]
    }
    if let period = content.sampling?.period { properties.append(.init("RSSISamplingPeriod", .uint16(period))) }
    return Interface(
      Self.interface,
      methods: [
        .init("Activate") { [weak self] _ in
          self?.decided(true)
          return []
        },
        .init("Release") { [weak self] _ in
          self?.decided(false)
          return []
        },
        .init("DeviceFound", in: [.init("device", "o")]) { [weak self] call in self?.tell(call, Event.found) ?? [] },
        .init("DeviceLost", in: [.init("device", "o")]) { [weak self] call in self?.tell(call, Event.lost) ?? [] },
      ], properties: properties)
  }

  private func tell(_ call: Interface.Call, _ event: (Device) -> Event) -> [Value] {
    if let path = call.arguments[0].objectPath { source.yield(event(Device(session: session, path: path))) }
    return []
  }

  /// Handles that bluetoothd accepted the monitor, rejected it, or dropped it; in the last case the supervisor restores
  /// it.
  private func decided(_ isActive: Bool) {
    let (verdict, entry) = state.withLock { ($0.verdict, $0.entry) }
    if let verdict {
      verdict.yield(isActive)
    } else if !isActive, let entry {
      session.core.dropped(entry)
    }
  }
}

extension Adapter {
  /// Monitors advertisements, until the returned object is released or stopped.
  /// - Parameters:
  ///   - content: The conditions.
  ///   - limit: The capacity of the stream of events; when it is full the oldest are dropped.
  /// - Throws: ``BlueZError``: `.invalidArgument` when the content is outside bluetoothd's ranges, `.notSupported` when
  ///   this bluetoothd has no monitors (they need `bluetoothd -E`, and Linux 5.10 or later), and from BlueZ 5.69 on for
  ///   a pattern of services, service data or names, which no release since then matches; `.notPowered`,
  ///   `.notPermitted`, `.noAdapter`, `.serviceUnavailable`.
  public func monitor(_ content: AdvertisementMonitor.Content, limit: Int = 256) async throws -> AdvertisementMonitor {
    try content.check()
    if let release = await core.release() { try content.check(for: release) }
    let monitor = AdvertisementMonitor(session: session, adapter: identity, content: content, limit: limit)
    try await monitor.start()
    return monitor
  }
}
