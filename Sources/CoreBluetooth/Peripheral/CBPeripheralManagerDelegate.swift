/// The calls with which a peripheral manager tells of its state, of centrals and of their requests.
public protocol CBPeripheralManagerDelegate: NSObjectProtocol {
  /// Tells that the manager's state changed; the only call that every delegate has to have.
  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager)

  /// Tells that the system restored the manager; never on Linux, which does not end programs to start them again.
  func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any])

  /// Tells that the advertisement is on the air, or why not.
  func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?)

  /// Tells that a service can be used by centrals, or why not.
  func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?)

  /// Tells that a central has subscribed to a value.
  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic)

  /// Tells that a central has unsubscribed from a value, or is gone.
  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic)

  /// Tells that there is room again for values to be sent.
  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager)

  /// Tells of a central that reads a value, and that waits for a response.
  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest)

  /// Tells of a central that writes a value, and that waits for a response to the first of the requests.
  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest])
}

extension CBPeripheralManagerDelegate {
  /// Ignores the restoration, as a delegate without this call does.
  public func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {}

  /// Ignores the advertisement, as a delegate without this call does.
  public func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {}

  /// Ignores the service, as a delegate without this call does.
  public func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {}

  /// Ignores the subscription, as a delegate without this call does.
  public func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
  ) {}

  /// Ignores the end of a subscription, as a delegate without this call does.
  public func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
  ) {}

  /// Ignores the room, as a delegate without this call does.
  public func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) {}

  /// Refuses the request, which a delegate without this call cannot serve.
  public func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
    peripheral.respond(to: request, withResult: .requestNotSupported)
  }

  /// Refuses the requests, which a delegate without this call cannot serve.
  public func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    for request in requests { peripheral.respond(to: request, withResult: .requestNotSupported) }
  }
}
