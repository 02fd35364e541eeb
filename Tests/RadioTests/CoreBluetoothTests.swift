import BlueZ
import CoreBluetooth
import Streams
import Testing

/// Two apps in one: a sensor at one adapter and a monitor at the other, which both go on by themselves.
private final class Apps: NSObject, @unchecked Sendable {
  // Sound: the stored properties are constants that are safe to share.
  static let service = CBUUID(string: "EC0D0401-EC0D-EC0D-EC0D-EC0D0401EC0D")

  let lines: BoundedStream<String>
  let sensor = Lock<CBPeripheral?>(nil)
  let pulse = CBMutableCharacteristic(
    type: CBUUID(string: "2A37"), properties: [.notify], value: nil, permissions: .readable)
  let note = CBMutableCharacteristic(
    type: CBUUID(string: "2A56"), properties: [.read, .write], value: nil, permissions: [.readable, .writeable])
  private let source: BoundedStream<String>.Source

  override init() {
    (lines, source) = BoundedStream.make(of: String.self, limit: 4096)
  }

  func say(_ line: String, _ error: (any Error)? = nil) { source.yield(line + (error.map { " \($0)" } ?? "")) }

  /// Waits until each of these lines has come, and returns all that came.
  func until(_ wanted: String...) async throws -> [String] {
    let lines = lines
    return try await bounded(.seconds(60), "\(wanted)") {
      var told: [String] = []
      for await line in lines {
        told.append(line)
        if Set(told).isSuperset(of: wanted) { return told }
      }
      throw TestTimeout(phase: "the apps ended before: \(wanted)")
    }
  }

  /// A session over the system's bus, at one of the adapters of the tests.
  static func opening(_ adapter: String) -> @Sendable () async throws -> (session: Session, adapter: String?) {
    { (try await Session.open(), adapter) }
  }
}

extension Apps: CBPeripheralManagerDelegate {
  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn else { return }
    let service = CBMutableService(type: Self.service, primary: true)
    service.characteristics = [pulse, note]
    peripheral.add(service)
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
    peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [Self.service]])
  }

  func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
    say("advertising", error)
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
  ) {
    for number in 1...10 { _ = peripheral.updateValue(Data([UInt8(number)]), for: pulse, onSubscribedCentrals: nil) }
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
  ) {
    say("unsubscribed")
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
    request.value = Data(0..<200)
    peripheral.respond(to: request, withResult: .success)
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    peripheral.respond(to: requests[0], withResult: requests[0].value == Data([0]) ? .writeNotPermitted : .success)
  }
}

extension Apps: CBCentralManagerDelegate {
  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn { central.scanForPeripherals(withServices: [Self.service]) }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi RSSI: NSNumber
  ) {
    central.stopScan()
    sensor.withLock { $0 = peripheral }
    peripheral.delegate = self
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    say("connected")
    peripheral.discoverServices([Self.service])
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) {
    say("disconnected", error)
  }
}

extension Apps: CBPeripheralDelegate {
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    for characteristic in service.characteristics ?? [] {
      if characteristic.properties.contains(.notify) {
        peripheral.setNotifyValue(true, for: characteristic)
      } else {
        peripheral.writeValue(Data([1]), for: characteristic, type: .withResponse)
        peripheral.writeValue(Data([0]), for: characteristic, type: .withResponse)
        peripheral.readValue(for: characteristic)
      }
    }
  }

  func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    say((error as? CBATTError).map { "refused \($0.code.rawValue)" } ?? "written", error is CBATTError ? nil : error)
  }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    let value = characteristic.value ?? Data()
    say(value.count == 1 ? "value \(value[0])" : "read \(value.count)", error)
  }
}

extension RadioTests {
  @Suite("CoreBluetooth, over the radio") struct CoreBluetoothApps {
    @Test("An app's sensor and an app's monitor find each other, exchange values, and part")
    func sensorAndMonitor() async throws {
      // CoreBluetooth does not switch an adapter on.
      for name in [Radio.phone, Radio.mac] { try await Radio.adapter(name).session.close() }
      let apps = Apps()
      let sensor = CBPeripheralManager(
        delegate: apps, queue: DispatchQueue(label: "sensor"), opening: Apps.opening(Radio.phone))
      _ = try await apps.until("advertising")
      let monitor = CBCentralManager(
        delegate: apps, queue: DispatchQueue(label: "monitor"), opening: Apps.opening(Radio.mac))
      _ = try await apps.until("connected")
      let told = try await apps.until("read 200", "value 10")
      #expect(told.filter { $0.hasPrefix("value") } == (1...10).map { "value \($0)" })
      #expect(told.filter { $0.hasPrefix("written") || $0.hasPrefix("refused") } == ["written", "refused 3"])
      let peripheral = try #require(apps.sensor.withLock { $0 })
      monitor.cancelPeripheralConnection(peripheral)
      _ = try await apps.until("disconnected")
      #expect(peripheral.state == .disconnected)
      withExtendedLifetime((sensor, monitor)) {}
    }
  }
}
