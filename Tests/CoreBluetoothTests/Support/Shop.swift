import BlueZ
import BlueZTesting
import CoreBluetooth
import Streams
import Testing

/// An app's delegate that offers a service with a note that can be read and written, and a pulse.
final class Shopkeeper: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
  // Sound: the stored properties are constants that are safe to share.
  let watcher = Watcher()
  let note = Lock(Data("open".utf8))
  let pulse = CBMutableCharacteristic(
    type: CBUUID(string: "2A37"), properties: .notify, value: nil, permissions: .readable)
  let service = CBMutableService(type: CBUUID(string: "180D"), primary: true)

  override init() {
    let slip = CBMutableCharacteristic(
      type: CBUUID(string: "2A56"), properties: [.read, .write, .writeWithoutResponse], value: nil,
      permissions: [.readable, .writeable])
    slip.descriptors = [CBMutableDescriptor(type: CBUUID(string: "2901"), value: "a note")]
    let fixed = CBMutableCharacteristic(
      type: CBUUID(string: "2A38"), properties: .read, value: Data([1]), permissions: .readable)
    service.characteristics = [pulse, slip, fixed]
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) { watcher.note("state \(peripheral.state)") }

  func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
    watcher.note("advertising \(peripheral.isAdvertising)", error)
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
    watcher.note("added \(service.uuid.uuidString)", error)
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
  ) {
    watcher.note("subscribed \(central.maximumUpdateValueLength)")
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
  ) {
    watcher.note("unsubscribed \(pulse.subscribedCentrals?.count ?? 0)")
  }

  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { watcher.note("ready") }

  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
    request.value = note.withLock { $0 }
    peripheral.respond(to: request, withResult: .success)
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    guard let request = requests.first, let value = request.value, value != Data([0]) else {
      return peripheral.respond(to: requests[0], withResult: .writeNotPermitted)
    }
    note.withLock { $0 = value }
    peripheral.respond(to: request, withResult: .success)
  }
}

/// A fake BlueZ whose first adapter is the app's, and whose second one is a central's.
struct Shop {
  let lab: FakeBlueZ
  let keeper = Shopkeeper()
  let manager: CBPeripheralManager

  /// Starts the fake, and the manager with its service and advertisement.
  static func open(_ configuration: FakeBlueZ.Configuration = .init()) async throws -> Shop {
    let shop = try await Shop(lab: FakeBlueZ.start(configuration))
    #expect(await shop.keeper.watcher.next() == "state poweredOn")
    await shop.fill()
    return shop
  }

  private init(lab: FakeBlueZ) {
    self.lab = lab
    manager = CBPeripheralManager(delegate: keeper, queue: keeper.watcher.queue) {
      (try await lab.session(), lab.adapters[0].name)
    }
  }

  /// Adds the service and advertises it.
  func fill() async {
    manager.add(keeper.service)
    #expect(await keeper.watcher.next() == "added 180D")
    manager.startAdvertising([
      CBAdvertisementDataLocalNameKey: "Shop", CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "180D")],
    ])
    #expect(await keeper.watcher.next() == "advertising true")
  }

  /// Returns the shop as a central sees it, connected.
  func visit() async throws -> Device {
    let device = try await lab.adapter(1).find(.init(services: ["180d"]))
    try await device.connect()
    return device
  }

  /// Waits until bluetoothd has nothing left of the app.
  func isAbandoned() async -> Bool {
    // The fake applies what it was told when it gets to it; it gets to it, or the suite's limit ends the wait.
    while await lab.adapters[0].holdings() != .init() { await Task.yield() }
    return true
  }
}
