/// A time in seconds since the beginning of 2001, as in Core Foundation, which Linux does not have.
public typealias CFAbsoluteTime = Double

/// The calls with which a central manager tells of its state, of devices and of connections.
public protocol CBCentralManagerDelegate: NSObjectProtocol {
  /// Tells that the manager's state changed; the only call that every delegate has to have.
  func centralManagerDidUpdateState(_ central: CBCentralManager)

  /// Tells that the system restored the manager; never on Linux, which does not end programs to start them again.
  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any])

  /// Tells of a device that was received during a scan.
  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi RSSI: NSNumber)

  /// Tells that a device is connected from now on.
  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral)

  /// Tells that a connection could not be established, and that no further attempt is made.
  func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?)

  /// Tells that a connection, or the attempt to make one, has ended; the error is `nil` when the app ended it.
  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?)

  /// Tells that a connection has ended, when it did, and whether it is made again. A delegate that has this call does
  /// not get the shorter one.
  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: CFAbsoluteTime,
    isReconnecting: Bool, error: (any Error)?)
}

extension CBCentralManagerDelegate {
  /// Ignores the restoration, as a delegate without this call does.
  public func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {}

  /// Ignores the device, as a delegate without this call does.
  public func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi RSSI: NSNumber
  ) {}

  /// Ignores the connection, as a delegate without this call does.
  public func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {}

  /// Ignores the failure, as a delegate without this call does.
  public func centralManager(
    _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
  ) {}

  /// Ignores the disconnection, as a delegate without this call does.
  public func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) {}

  /// Calls the shorter form, as for a delegate without this call.
  public func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: CFAbsoluteTime,
    isReconnecting: Bool, error: (any Error)?
  ) {
    centralManager(central, didDisconnectPeripheral: peripheral, error: error)
  }
}
