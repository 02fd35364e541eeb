import BlueZ
import Streams

/// The state of a device's connection, as the app sees it.
public enum CBPeripheralState: Int, Sendable {
  /// The device is not connected for this manager.
  case disconnected = 0
  /// The connection is being made, which waits until the device is in range.
  case connecting = 1
  /// The device is connected, and its services can be discovered.
  case connected = 2
  /// The connection is being ended by the app.
  case disconnecting = 3
}

/// A remote device, from a ``CBCentralManager``.
///
/// Its delegate is called on the manager's queue. Requests are sent one after the other, in the order of the calls.
open class CBPeripheral: CBPeer, @unchecked Sendable {
  struct Shared {
    weak var manager: CBCentralManager?
    weak var delegate: (any CBPeripheralDelegate)?
    var name: String?
    var state = CBPeripheralState.disconnected
    var link: Link?
    /// The device of the present connection.
    var device: Device?
    var services: [CBService]?
    var attributes = AttributeTable()
    /// The tasks that receive values, by characteristic.
    var subscriptions: [RemoteCharacteristic: Task<Void, Never>] = [:]
    /// The number of writes without response that are not sent yet.
    var waitingWrites = 0
    /// A Boolean value that indicates whether the app was told that there is no room for another one.
    var isFull = false
  }

  let shared: Lock<Shared>
  let callbacks: Callbacks
  /// The requests, which are sent one after the other as the Attribute Protocol wants it.
  let requests = SerialQueue()
  private let address: BluetoothAddress

  init(_ address: BluetoothAddress, manager: CBCentralManager) {
    self.address = address
    callbacks = manager.callbacks
    shared = Lock(Shared(manager: manager))
    super.init(identifier: address.identifier)
  }

  deinit {
    shared.withLock { $0.link }?.cancel(nil)
    for subscription in shared.withLock({ $0.subscriptions.values }) { subscription.cancel() }
  }

  /// The object that is told of services and values; the peripheral does not keep it alive.
  open weak var delegate: (any CBPeripheralDelegate)? {
    get { shared.withLock { $0.delegate } }
    set { shared.withLock { $0.delegate = newValue } }
  }

  /// The name that the device advertises or that was read from it.
  open var name: String? { shared.withLock { $0.name } }

  /// The state of the connection for this manager.
  open var state: CBPeripheralState { shared.withLock { $0.state } }

  /// The services that were discovered; `nil` before that, and without a connection.
  open var services: [CBService]? { shared.withLock { $0.services } }

  var manager: CBCentralManager? { shared.withLock { $0.manager } }

  func rename(_ name: String?) {
    guard let name else { return }
    shared.withLock { $0.name = name }
  }

  // MARK: The connection

  func connect(over adapter: Adapter, _ options: LinkOptions) {
    let new = Link()
    let (isConnected, previous) = shared.withLock { shared -> (Bool, Link?) in
      switch shared.state {
      case .connected: return (true, nil)
      case .connecting: return (false, nil)
      case .disconnected, .disconnecting:
        let previous = shared.link
        shared.link = new
        shared.state = .connecting
        return (false, previous)
      }
    }
    if isConnected {
      return callbacks.post { [self] in
        if let manager { manager.delegate?.centralManager(manager, didConnect: self) }
      }
    }
    guard shared.withLock({ $0.link === new }) else { return }
    let callbacks = callbacks
    new.start(to: address, over: adapter, options, after: previous) { [weak self] event, link in
      if case .ended = event { await self?.receiveRest() }
      await callbacks.deliver { [weak self] in self?.handle(event, of: link) }
    }
  }

  /// Ends the connection, or the attempt to make one; without effect when there is none.
  func endLink(_ failure: CBError? = nil) {
    let link = shared.withLock { shared -> Link? in
      guard shared.state == .connecting || shared.state == .connected else { return nil }
      shared.state = .disconnecting
      return shared.link
    }
    link?.cancel(failure)
  }

  /// Waits until the values that have arrived are delivered: the app gets none after the end.
  private func receiveRest() async {
    for task in shared.withLock({ Array($0.subscriptions.values) }) { await task.value }
  }

  /// Handles an event of a connection, on the manager's queue.
  private func handle(_ event: Link.Event, of link: Link) {
    switch event {
    case .connected(let device): connected(device, by: link)
    case .renamed:
      rename(shared.withLock { $0.device }?.name)
      delegate?.peripheralDidUpdateName(self)
    case .servicesChanged: servicesChanged()
    case .failed(let error):
      guard leave(link, for: .disconnected), let manager else { return }
      manager.delegate?.centralManager(manager, didFailToConnect: self, error: error)
    case .ended(let error, let isReconnecting):
      _ = leave(link, for: isReconnecting ? .connecting : .disconnected)
      guard let manager else { return }
      manager.delegate?.centralManager(
        manager, didDisconnectPeripheral: self, timestamp: Date().timeIntervalSinceReferenceDate,
        isReconnecting: isReconnecting, error: error)
    }
  }

  private func connected(_ device: Device, by link: Link) {
    let isNews = shared.withLock { shared in
      guard shared.link === link, shared.state == .connecting else { return false }
      shared.state = .connected
      shared.device = device
      return true
    }
    guard isNews, let manager else { return }
    rename(device.name)
    manager.delegate?.centralManager(manager, didConnect: self)
  }

  /// Forgets what belonged to a connection.
  /// - Returns: `false` when the app has asked for a newer connection meanwhile.
  private func leave(_ link: Link, for state: CBPeripheralState) -> Bool {
    let (isPresent, characteristics) = shared.withLock { shared in
      defer {
        shared.device = nil
        shared.services = nil
        shared.attributes = AttributeTable()
        shared.subscriptions = [:]
      }
      let isPresent = shared.link === link
      if isPresent {
        shared.state = state
        if state == .disconnected { shared.link = nil }
      }
      return (isPresent, shared.attributes.characteristics.values)
    }
    for characteristic in characteristics { characteristic.shared.withLock { $0.isNotifying = false } }
    return isPresent
  }
}

/// The objects of a connection's attributes: the same one each time that an attribute is discovered.
struct AttributeTable {
  var services: [RemoteService: CBService] = [:]
  var characteristics: [RemoteCharacteristic: CBCharacteristic] = [:]
  var descriptors: [RemoteDescriptor: CBDescriptor] = [:]
}
