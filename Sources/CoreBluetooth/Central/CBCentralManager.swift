package import BlueZ
import Streams

/// A manager that scans for devices and connects to them.
///
/// ```swift
/// let central = CBCentralManager(delegate: nil, queue: DispatchQueue(label: "bluetooth"))
/// print(central.state == .unknown, central.isScanning)
/// ```
///
/// Its end is that of everything it did: when the last reference is released, the scan stops, and the connections that
/// it made are ended.
open class CBCentralManager: CBManager, @unchecked Sendable {
  struct Shared {
    weak var delegate: (any CBCentralManagerDelegate)?
    var scan: Scan?
    var peripherals = PeripheralTable()
  }

  let shared = Lock(Shared())

  /// Creates a manager without a delegate, on the main queue.
  public convenience init() {
    self.init(delegate: nil, queue: nil, options: nil)
  }

  /// Creates a manager and starts to look for the adapter, see ``CBCentralManager/init(delegate:queue:options:)``.
  public convenience init(delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?) {
    self.init(delegate: delegate, queue: queue, options: nil)
  }

  /// Creates a manager and starts to look for the adapter.
  /// - Parameters:
  ///   - delegate: The object that is told of events; the manager does not keep it alive.
  ///   - queue: The queue on which delegates are called; `nil` is the main queue, which the program must then run, with
  ///     `dispatchMain()` or `RunLoop.main.run()`.
  ///   - options: The options of Apple's platforms, which have no effect on Linux.
  public convenience init(
    delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?, options: [String: Any]? = nil
  ) {
    self.init(delegate: delegate, queue: queue, opening: Radio.system)
  }

  /// Creates a manager over another session than that of the system.
  package init(
    delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?,
    opening: @escaping @Sendable () async throws -> (session: Session, adapter: String?)
  ) {
    super.init(queue: queue, opening: opening)
    shared.withLock { $0.delegate = delegate }
    start { [weak self] in self?.changed(to: $0) }
  }

  deinit {
    shared.withLock { $0.scan }?.stop()
    for peripheral in shared.withLock({ $0.peripherals.all }) { peripheral.endLink() }
  }

  /// The object that is told of events; the manager does not keep it alive.
  open weak var delegate: (any CBCentralManagerDelegate)? {
    get { shared.withLock { $0.delegate } }
    set { shared.withLock { $0.delegate = newValue } }
  }

  /// Handles a change of the adapter, on the manager's queue.
  private func changed(to state: CBManagerState) {
    guard radio.report(state) != nil else { return }
    let (scan, peripherals) = shared.withLock { shared -> (Scan?, [CBPeripheral]) in
      guard state != .poweredOn else { return (nil, []) }
      defer { shared.scan = nil }
      return (shared.scan, shared.peripherals.all)
    }
    scan?.stop()
    delegate?.centralManagerDidUpdateState(self)
    for peripheral in peripherals { peripheral.endLink(CBError(.peripheralDisconnected, "the adapter is \(state)")) }
  }

  // MARK: Devices

  /// Returns the devices with identifiers. Every identifier that was made on Linux is one of a device, which need not
  /// be in range: a connection waits for it.
  open func retrievePeripherals(withIdentifiers identifiers: [UUID]) -> [CBPeripheral] {
    identifiers.compactMap(BluetoothAddress.init(identifier:)).map { peripheral($0) }
  }

  /// Returns the devices that are connected to this computer, by whichever program, and that have one of the services.
  open func retrieveConnectedPeripherals(withServices serviceUUIDs: [CBUUID]) -> [CBPeripheral] {
    let wanted = Set(serviceUUIDs.map(\.bluetoothUUID))
    let connected = radio.adapter?.devices.filter {
      $0.isConnected && !$0.advertisedServices.isDisjoint(with: wanted)
    }
    return (connected ?? []).compactMap(peripheral(of:))
  }

  /// Connects to a device, however long it takes until it is in range; the delegate is told.
  ///
  /// The app has to keep the peripheral: the connection, and the attempt to make it, end with the last reference.
  /// - Parameters:
  ///   - peripheral: The device, from this manager.
  ///   - options: ``CBConnectPeripheralOptionEnableAutoReconnect`` and ``CBConnectPeripheralOptionStartDelayKey``; the
  ///     other options have no effect on Linux.
  open func connect(_ peripheral: CBPeripheral, options: [String: Any]? = nil) {
    guard let adapter = radio.adapter, state == .poweredOn, peripheral.manager === self else {
      Radio.logger.error("connect: the manager is \(state), or the peripheral is another manager's")
      return
    }
    peripheral.connect(
      over: adapter,
      LinkOptions(
        delay: (options?[CBConnectPeripheralOptionStartDelayKey] as? NSNumber)?.doubleValue ?? 0,
        isRenewed: options.flag(CBConnectPeripheralOptionEnableAutoReconnect)))
  }

  /// Ends a connection, or the attempt to make one; the delegate is told when it has ended.
  open func cancelPeripheralConnection(_ peripheral: CBPeripheral) {
    peripheral.endLink()
  }

  func peripheral(of device: Device) -> CBPeripheral? {
    guard let address = device.address else { return nil }
    let peripheral = peripheral(address)
    peripheral.rename(device.name)
    return peripheral
  }

  private func peripheral(_ address: BluetoothAddress) -> CBPeripheral {
    shared.withLock { shared in
      if let known = shared.peripherals[address] { return known }
      let new = CBPeripheral(address, manager: self)
      shared.peripherals[address] = new
      return new
    }
  }
}

/// The peripherals that the app, or a callback on its way, still has.
struct PeripheralTable {
  private struct Entry {
    weak var peripheral: CBPeripheral?
  }

  private var entries: [BluetoothAddress: Entry] = [:]
  /// The number of entries at which those of released peripherals are removed.
  private var limit = 64

  var all: [CBPeripheral] { entries.values.compactMap(\.peripheral) }

  subscript(address: BluetoothAddress) -> CBPeripheral? {
    get { entries[address]?.peripheral }
    set {
      if entries.count >= limit {
        entries = entries.filter { $0.value.peripheral != nil }
        limit = max(64, 2 * entries.count)
      }
      entries[address] = Entry(peripheral: newValue)
    }
  }
}
