package import BlueZ
import Streams

/// The connection intervals that a program may wish for.
public enum CBPeripheralManagerConnectionLatency: Int, Sendable {
  /// Short intervals, for little delay.
  case low = 0
  /// Intervals between the two others.
  case medium = 1
  /// Long intervals, for a long battery life.
  case high = 2
}

/// A manager that offers services to centrals and advertises them.
///
/// ```swift
/// let manager = CBPeripheralManager(delegate: nil, queue: DispatchQueue(label: "bluetooth"))
/// print(manager.state == .unknown, manager.isAdvertising)
/// ```
///
/// Its end is that of everything it did: when the last reference is released, its services and its advertisement are
/// withdrawn. When bluetoothd restarts they are gone too, and the app adds them again once the state is back at
/// ``CBManagerState/poweredOn``; while the adapter is off they wait.
open class CBPeripheralManager: CBManager, @unchecked Sendable {
  struct Shared {
    weak var delegate: (any CBPeripheralManagerDelegate)?
    var services: [PublishedService] = []
    var advertisement: Advertisement?
    /// The number of values that are not handed to bluetoothd yet.
    var waitingValues = 0
    /// A Boolean value that indicates whether the app was told that there is no room for another one.
    var isFull = false
  }

  let shared = Lock(Shared())
  /// What concerns services and the advertisement, in the order of the app's calls.
  let changes = SerialQueue()
  /// The values for subscribers, in the order of the app's calls.
  let values = SerialQueue()

  /// Creates a manager without a delegate, on the main queue.
  public convenience init() {
    self.init(delegate: nil, queue: nil, options: nil)
  }

  /// Creates a manager and starts to look for the adapter, see ``CBPeripheralManager/init(delegate:queue:options:)``.
  public convenience init(delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?) {
    self.init(delegate: delegate, queue: queue, options: nil)
  }

  /// Creates a manager and starts to look for the adapter.
  /// - Parameters:
  ///   - delegate: The object that is told of events; the manager does not keep it alive.
  ///   - queue: The queue on which the delegate is called; `nil` is the main queue, which the program must then run.
  ///   - options: The options of Apple's platforms, which have no effect on Linux.
  public convenience init(
    delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?, options: [String: Any]? = nil
  ) {
    self.init(delegate: delegate, queue: queue, opening: Radio.system)
  }

  /// Creates a manager over another session than that of the system.
  package init(
    delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?,
    opening: @escaping @Sendable () async throws -> (session: Session, adapter: String?)
  ) {
    super.init(queue: queue, opening: opening)
    shared.withLock { $0.delegate = delegate }
    start { [weak self] in self?.changed(to: $0) }
  }

  deinit {
    for service in shared.withLock({ $0.services }) { service.stopWatching() }
  }

  /// The object that is told of events; the manager does not keep it alive.
  open weak var delegate: (any CBPeripheralManagerDelegate)? {
    get { shared.withLock { $0.delegate } }
    set { shared.withLock { $0.delegate = newValue } }
  }

  /// Sets the wish for connection intervals; without effect on Linux, where the central and the kernel decide.
  open func setDesiredConnectionLatency(_ latency: CBPeripheralManagerConnectionLatency, for central: CBCentral) {}

  /// Handles a change of the adapter, on the manager's queue.
  private func changed(to state: CBManagerState) {
    guard radio.report(state) != nil else { return }
    if state.rawValue < CBManagerState.poweredOff.rawValue {
      stopAdvertising()
      removeAllServices()
    }
    delegate?.peripheralManagerDidUpdateState(self)
  }

  // MARK: Advertising

  /// A Boolean value that indicates whether the manager's advertisement is on the air.
  open var isAdvertising: Bool { shared.withLock { $0.advertisement != nil } && state == .poweredOn }

  /// Starts to advertise, and tells the delegate.
  /// - Parameter advertisementData: ``CBAdvertisementDataLocalNameKey`` and ``CBAdvertisementDataServiceUUIDsKey``, as
  ///   on Apple's platforms; other keys have no effect.
  open func startAdvertising(_ advertisementData: [String: Any]?) {
    guard let adapter = radio.adapter, state == .poweredOn else {
      Radio.logger.error("startAdvertising: the manager is \(state)")
      return
    }
    let content = Advertisement.Content(
      name: advertisementData?[CBAdvertisementDataLocalNameKey] as? String,
      services: (advertisementData?[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] ?? []).map(\.bluetoothUUID))
    change { manager in
      guard manager.shared.withLock({ $0.advertisement == nil }) else {
        throw CBError(.alreadyAdvertising, "the manager advertises already")
      }
      let advertisement = try await adapter.advertise(content)
      manager.shared.withLock { $0.advertisement = advertisement }
    } then: {
      $0.delegate?.peripheralManagerDidStartAdvertising($0, error: $1)
    }
  }

  /// Stops the advertisement of this manager.
  open func stopAdvertising() {
    change { manager in
      let advertisement = manager.shared.withLock { $0.advertisement.take() }
      try await advertisement?.stop()
    } then: { _, error in
      if let error { Radio.logger.notice("the advertisement was gone", metadata: ["error": "\(error)"]) }
    }
  }

  /// Runs a change after all earlier ones, and then tells of its outcome on the manager's queue.
  func change(
    _ body: @escaping @Sendable (CBPeripheralManager) async throws -> Void,
    then tell: @escaping @Sendable (CBPeripheralManager, (any Error)?) -> Void
  ) {
    // Not for longer than the app has the manager, whose end withdraws everything.
    changes.enqueue { [weak self] in
      guard let self else { return }
      var failure: (any Error)?
      do {
        try await body(self)
      } catch {
        failure = CBError.wrapping(error)
      }
      let outcome = failure
      await callbacks.deliver { [weak self] in
        if let self { tell(self, outcome) }
      }
    }
  }
}
