import DBus
import Streams

/// A time window in which an adapter is pairable. It ends after its duration, with ``close()``, or with this object.
///
/// ```swift
/// let window = try await adapter.openPairingWindow(for: .seconds(120))
/// for await device in adapter.newBonds() {
///   print("bonded with", device)
///   try await window.close()
///   break
/// }
/// ```
public final class PairingWindow: Registration {
  /// The adapter that is pairable during the window.
  public let adapter: Adapter
  var place: RegistrationPlace { .adapter(adapter.identity) }
  let manager = Adapter.interface
  let needsPower = false
  let order = 3
  var title: String { "the pairing window of \(adapter.address)" }

  private let end: ContinuousClock.Instant
  /// The timeout before the window, which is restored afterwards, because bluetoothd stores it on disk.
  private let formerTimeout: Value?
  private let state = Lock(State())

  private struct State {
    var id: Int?
    var observer: Int?
  }

  init(adapter: Adapter, duration: Duration) {
    self.adapter = adapter
    end = .now + duration
    formerTimeout = adapter.property("PairableTimeout")
  }

  /// The time until the window ends; zero afterwards.
  public var remaining: Duration { max(ContinuousClock.now.duration(to: end), .zero) }

  deinit {
    adapter.core.takeDownQuietly(takeBack())
  }

  /// Closes the window: the adapter is not pairable when this method returns.
  /// - Throws: ``BlueZError`` when bluetoothd refuses. Where bluetoothd or the adapter is gone there is nothing to
  ///   close.
  public func close() async throws {
    try await adapter.core.takeDown(takeBack())
  }

  func open() async throws {
    let core = adapter.core
    let id = try await core.register(ForwardingRegistration(self))
    let observer = core.observe { [weak self] in self?.note($0) }
    state.withLock { $0 = State(id: id, observer: observer) }
  }

  var lane: RegistrationLane { .pairing }

  var undoing: Undoing {
    let adapter = adapter
    let former = formerTimeout
    var leftovers = [Undoing.Leftover(interface: manager, property: "Pairable", value: false)]
    if let former { leftovers.append(.init(interface: manager, property: "PairableTimeout", value: former)) }
    return Undoing(leftovers: leftovers) { _, _ in try await Self.shut(adapter, former) }
  }

  /// - Returns: The identifier of the window's registration; `nil` when it was closed before.
  private func takeBack() -> Int? {
    let old = state.withLock { state in
      defer { state = State() }
      return state
    }
    let core = adapter.core
    if let observer = old.observer { core.stopObserving(observer) }
    guard let id = old.id else { return nil }
    core.state.withLock { _ = $0.pairing.windows.remove(adapter.identity) }
    return id
  }

  private static func shut(_ adapter: Adapter, _ formerTimeout: Value?) async throws {
    do {
      try await adapter.setPairable(false)
      if let formerTimeout { try await setTimeout(formerTimeout, of: adapter) }
    } catch let error as BlueZError where error.meansGone {
      adapter.core.logger.debug("no pairing window to close", metadata: ["error": "\(error)"])
    }
  }

  func establish(on connection: Connection, at path: ObjectPath) async throws {
    // bluetoothd starts its timer when the adapter becomes pairable, so the adapter must not be pairable before.
    try await adapter.setPairable(false)
    let (seconds, rest) = remaining.components
    guard seconds > 0 || rest > 0 else { return }
    try await Self.setTimeout(.uint32(UInt32(clamping: rest > 0 ? seconds + 1 : seconds)), of: adapter)
    try await adapter.setPairable(true)
  }

  private static func setTimeout(_ value: Value, of adapter: Adapter) async throws {
    let path = try await adapter.core.whenPresent(adapter.identity)
    try await adapter.core.set(
      path, Adapter.interface, "PairableTimeout", value, doing: "setting the pairable timeout of \(path.lastElement)")
  }

  /// Handles that an agent registered, which makes bluetoothd's adapters pairable again, also after the window.
  private func note(_ change: ObjectCache.Change) {
    guard case .changed(let path, Adapter.interface, let changed, _) = change, path == adapter.path,
      changed["Pairable"]?.bool == true, remaining == .zero
    else { return }
    let adapter = adapter
    adapter.core.pairingSteps.enqueue { try await adapter.setPairable(false) }
  }
}

extension Adapter {
  /// Makes the adapter pairable for a duration, until the returned object is released or closed.
  ///
  /// Only during the window do devices that want to pair reach the session's agent. When the window ends the adapter is
  /// not pairable, even if it was before; bluetoothd ends the window also when this program has terminated. While the
  /// object exists the window is declared: after a restart of bluetoothd the adapter is pairable for the rest of the
  /// window, and never after it.
  /// - Parameter duration: The duration, counted in whole seconds by bluetoothd; more than 0 s, at most 2³² − 1 s.
  /// - Throws: ``BlueZError``: `.invalidArgument` when the duration is outside the range, `.inProgress` when the
  ///   session has a window at this adapter, `.noAdapter`, `.notPermitted`, `.serviceUnavailable`.
  public func openPairingWindow(for duration: Duration) async throws -> PairingWindow {
    _ = try await core.whenPresent(identity)
    guard duration > .zero, duration <= .seconds(UInt32.max) else {
      throw BlueZError(
        .invalidArgument, "the duration of the pairing window is \(duration); allowed: more than 0 s, at most 2³² − 1 s"
      )
    }
    guard core.state.withLock({ $0.pairing.windows.insert(identity).inserted }) else {
      throw BlueZError(.inProgress, "the session already has a pairing window at \(address)", hint: "close it first")
    }
    do {
      let window = PairingWindow(adapter: self, duration: duration)
      try await window.open()
      return window
    } catch {
      core.state.withLock { _ = $0.pairing.windows.remove(identity) }
      throw error
    }
  }
}
