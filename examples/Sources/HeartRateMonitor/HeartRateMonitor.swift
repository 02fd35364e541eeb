import CoreBluetooth

/// Finds a heart-rate sensor, stays connected to it, and prints what it measures. The file uses nothing but Apple's API:
/// it builds on macOS and on Linux.
final class HeartRateMonitor: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
  private static let service = CBUUID(string: "180D")
  private static let measurement = CBUUID(string: "2A37")

  private lazy var central = CBCentralManager(delegate: self, queue: nil)
  private var sensor: CBPeripheral?
  private var isEnding = false

  override init() {
    super.init()
    _ = central
  }

  /// Ends the connection, and then the program.
  func end() {
    isEnding = true
    guard let sensor, sensor.state != .disconnected else { exit(0) }
    central.cancelPeripheralConnection(sensor)
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    switch central.state {
    case .poweredOn: central.scanForPeripherals(withServices: [Self.service])
    case .poweredOff: print("Bluetooth is off")
    case .unauthorized: print("Bluetooth is not permitted")
    case .unsupported: print("there is no Bluetooth")
    case .unknown, .resetting: print("waiting for Bluetooth")
    @unknown default: print("unknown state")
    }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi RSSI: NSNumber
  ) {
    central.stopScan()
    sensor = peripheral
    peripheral.delegate = self
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    print("connected to", peripheral.name ?? "a sensor")
    peripheral.discoverServices([Self.service])
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) {
    print("disconnected", error?.localizedDescription ?? "")
    if isEnding { exit(0) }
    central.connect(peripheral)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] {
      peripheral.discoverCharacteristics([Self.measurement], for: service)
    }
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    for characteristic in service.characteristics ?? [] { peripheral.setNotifyValue(true, for: characteristic) }
  }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    guard let value = characteristic.value, value.count >= 2 else { return }
    // The lowest bit of the flags says whether the rate has one byte or two.
    let isLong = value[0] & 1 != 0 && value.count >= 3
    print(isLong ? Int(value[1]) | Int(value[2]) << 8 : Int(value[1]), "beats per minute")
  }
}
