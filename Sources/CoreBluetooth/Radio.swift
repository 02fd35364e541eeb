import BlueZ
import Logging
import Streams

/// The session of a manager with bluetoothd, and its adapter.
final class Radio: Sendable {
  /// A source of sessions, and the adapter to use; `nil` is the first one.
  typealias Opening = @Sendable () async throws -> (session: Session, adapter: String?)

  private struct Shared {
    var adapter: Adapter?
    var session: Session?
    var reported = CBManagerState.unknown
    var watch: Task<Void, Never>?
    var isClosed = false
  }

  static let logger = Logger(label: "edgeblue.corebluetooth")
  private let opening: Opening
  private let shared = Lock(Shared())

  init(_ opening: @escaping Opening) {
    self.opening = opening
  }

  /// The session and adapter of a program that does not say which.
  static let system: Opening = {
    (try await Session.open(logger: logger), ProcessInfo.processInfo.environment["COREBLUETOOTH_ADAPTER"])
  }

  /// The adapter; `nil` until there is one.
  var adapter: Adapter? { shared.withLock { $0.adapter } }

  /// The state that the delegate was told last.
  var reported: CBManagerState { shared.withLock { $0.reported } }

  /// Records the state that the delegate is now told.
  /// - Returns: The state before; `nil` when it is the same.
  func report(_ state: CBManagerState) -> CBManagerState? {
    shared.withLock { shared in
      guard state != shared.reported else { return nil }
      defer { shared.reported = state }
      return shared.reported
    }
  }

  /// Starts to watch the adapter.
  /// - Parameter changed: A closure that is called with each state, in order.
  func start(_ changed: @escaping @Sendable (CBManagerState) -> Void) {
    let watch = Task { await self.watch(changed) }
    shared.withLock { $0.watch = watch }
  }

  /// Ends the session with everything that was made over it: scans, advertisements, services and links.
  func close() {
    let (watch, session) = shared.withLock { shared in
      shared.isClosed = true
      return (shared.watch, shared.session)
    }
    watch?.cancel()
    session?.close()
  }

  private func watch(_ changed: @escaping @Sendable (CBManagerState) -> Void) async {
    do {
      let (session, name) = try await opening()
      let isClosed = shared.withLock { shared in
        shared.session = session
        return shared.isClosed
      }
      if isClosed { return session.close() }
      let adapter = try await firstAdapter(of: session, name, changed)
      shared.withLock { $0.adapter = adapter }
      for await state in adapter.values(of: \.managerState) { changed(state) }
    } catch is CancellationError {
      // The manager is gone, and nobody is to be told.
    } catch {
      Self.logger.error("no Bluetooth", metadata: ["error": "\(error)"])
      changed((error as? BlueZError)?.code == .notPermitted ? .unauthorized : .unsupported)
    }
  }

  /// Waits until there is an adapter, however long that takes.
  private func firstAdapter(
    of session: Session, _ name: String?, _ changed: @Sendable (CBManagerState) -> Void
  ) async throws -> Adapter {
    // From before the first look, so that no adapter is missed.
    let events = session.events()
    while true {
      do {
        return try await session.adapter(name)
      } catch let error as BlueZError where error.code == .noAdapter || error.code == .serviceUnavailable {
        try Task.checkCancellation()
        Self.logger.notice("no adapter yet", metadata: ["error": "\(error)"])
        changed(error.code == .noAdapter ? .unsupported : .resetting)
      }
      for await event in events where Self.mayBringAdapter(event) { break }
      try Task.checkCancellation()
    }
  }

  private static func mayBringAdapter(_ event: Session.Event) -> Bool {
    switch event {
    case .serviceUp, .adapterAdded: true
    case .serviceDown, .restored, .adapterRemoved: false
    }
  }
}

extension Adapter {
  /// The state of a manager that uses this adapter. One that was unplugged is expected back, as bluetoothd is.
  fileprivate var managerState: CBManagerState {
    guard session.isServiceUp, name != nil else { return .resetting }
    return isPowered ? .poweredOn : .poweredOff
  }
}
