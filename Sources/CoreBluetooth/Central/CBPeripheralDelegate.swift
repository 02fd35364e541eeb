/// The calls with which a device's object tells of its services and values.
public protocol CBPeripheralDelegate: NSObjectProtocol {
  /// Tells that the device has another name.
  func peripheralDidUpdateName(_ peripheral: CBPeripheral)

  /// Tells that services are gone, or that there are new ones to discover: the list of gone ones may be empty.
  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService])

  /// Tells of the strength that was read with ``CBPeripheral/readRSSI()``.
  func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?)

  /// Tells that services were discovered, or why not.
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?)

  /// Tells that included services were discovered, or why not.
  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService, error: (any Error)?)

  /// Tells that characteristics were discovered, or why not.
  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?)

  /// Tells of a value that was read or received, or why it could not be read.
  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?)

  /// Tells that a value was written with response, or why not.
  func peripheral(
    _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?)

  /// Tells that a subscription began or ended, or why not.
  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?)

  /// Tells that descriptors were discovered, or why not.
  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?)

  /// Tells of a descriptor's value that was read, or why not.
  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?)

  /// Tells that a descriptor's value was written, or why not.
  func peripheral(_ peripheral: CBPeripheral, didWriteValueFor descriptor: CBDescriptor, error: (any Error)?)

  /// Tells that there is room again for writes without response.
  func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral)
}

extension CBPeripheralDelegate {
  /// Ignores the name, as a delegate without this call does.
  public func peripheralDidUpdateName(_ peripheral: CBPeripheral) {}

  /// Ignores the change, as a delegate without this call does.
  public func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {}

  /// Ignores the strength, as a delegate without this call does.
  public func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?) {}

  /// Ignores the services, as a delegate without this call does.
  public func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {}

  /// Ignores the included services, as a delegate without this call does.
  public func peripheral(
    _ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService, error: (any Error)?
  ) {}

  /// Ignores the characteristics, as a delegate without this call does.
  public func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
  ) {}

  /// Ignores the value, as a delegate without this call does.
  public func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
  ) {}

  /// Ignores the answer, as a delegate without this call does.
  public func peripheral(
    _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
  ) {}

  /// Ignores the subscription, as a delegate without this call does.
  public func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?
  ) {}

  /// Ignores the descriptors, as a delegate without this call does.
  public func peripheral(
    _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?
  ) {}

  /// Ignores the value, as a delegate without this call does.
  public func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?) {}

  /// Ignores the answer, as a delegate without this call does.
  public func peripheral(_ peripheral: CBPeripheral, didWriteValueFor descriptor: CBDescriptor, error: (any Error)?) {}

  /// Ignores the room, as a delegate without this call does.
  public func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) {}
}
