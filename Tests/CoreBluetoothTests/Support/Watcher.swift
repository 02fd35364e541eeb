import CoreBluetooth
import Streams

/// An app's delegate, which writes down each call as a line of text.
final class Watcher: NSObject, @unchecked Sendable {
  // Sound: the stored properties are constants that are safe to share.
  static let key = DispatchSpecificKey<Bool>()

  /// The queue on which every call has to come.
  let queue = DispatchQueue(label: "app")
  let peripheral = Lock<CBPeripheral?>(nil)
  private let source: BoundedStream<String>.Source
  private let lines: BoundedStream<String>

  override init() {
    (lines, source) = BoundedStream.make(of: String.self, limit: 4096)
    queue.setSpecific(key: Self.key, value: true)
  }

  func note(_ line: String, _ error: (any Error)? = nil) {
    let place = DispatchQueue.getSpecific(key: Self.key) == true ? "" : "OFF THE QUEUE: "
    let failure = error.map { " \(($0 as NSError).domain) \(($0 as NSError).code)" } ?? ""
    source.yield(place + line + failure)
  }

  /// The next line, which is also the next call.
  func next() async -> String? {
    var iterator = lines.makeAsyncIterator()
    return await iterator.next()
  }

  /// Reads lines up to one.
  /// - Returns: The lines that came before it.
  func until(_ line: String) async -> [String] {
    var earlier: [String] = []
    while let next = await next(), next != line { earlier.append(next) }
    return earlier
  }
}

extension Watcher: CBCentralManagerDelegate {
  func centralManagerDidUpdateState(_ central: CBCentralManager) { note("state \(central.state)") }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi RSSI: NSNumber
  ) {
    self.peripheral.withLock { $0 = peripheral }
    peripheral.delegate = self
    let name = advertisementData[CBAdvertisementDataLocalNameKey] as? String ?? "?"
    let services = advertisementData[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] ?? []
    note("found \(name) \(services.map(\.uuidString)) \(RSSI)")
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    note("connected \(peripheral.state)")
  }

  func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
    note("failed \(peripheral.state)", error)
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) {
    note("disconnected \(peripheral.state) \(peripheral.services?.count ?? -1)", error)
  }
}

extension Watcher: CBPeripheralDelegate {
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    note("services \((peripheral.services ?? []).map(\.uuid.uuidString))", error)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    note("characteristics \((service.characteristics ?? []).map(\.uuid.uuidString))", error)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?
  ) {
    note("descriptors \((characteristic.descriptors ?? []).map(\.uuid.uuidString))", error)
  }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    note("value \(characteristic.value.map { Array($0) } ?? [])", error)
  }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?) {
    note("descriptor \(descriptor.value ?? "nothing")", error)
  }

  func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    note("written", error)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?
  ) {
    note("notifying \(characteristic.isNotifying)", error)
  }

  func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) { note("ready") }
}
