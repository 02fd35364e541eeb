import BlueZ
import BlueZTesting
import CoreBluetooth
import Streams
import Testing

/// A fake BlueZ with a device at its first adapter; the app's manager takes the second one.
struct Kiosk {

  let lab: FakeBlueZ
  let bell = LocalCharacteristic("2a37", .notify)
  let dropped = BoundedStream.make(of: [UInt8].self, limit: 4096)
  private let opened: (GATTApplication, Advertisement)

  /// Starts the fake, and offers and advertises a service with a characteristic of each kind.
  static func open(_ configuration: FakeBlueZ.Configuration = .init()) async throws -> Kiosk {
    try await Kiosk(lab: FakeBlueZ.start(configuration))
  }

  private init(lab: FakeBlueZ) async throws {
    self.lab = lab
    let content = Lock<[UInt8]>([1, 2, 3])
    let source = dropped.source
    let box = LocalCharacteristic(
      "2a56", [.read, .write], descriptors: [LocalDescriptor("2901", value: Array("a box".utf8))],
      read: { _ in content.withLock { $0 } },
      writes: .handler { request in
        guard request.value != [0] else { throw AttributeRefusal.notPermitted }
        content.withLock { $0 = request.value }
      })
    let drop = LocalCharacteristic("2a58", .writeWithoutResponse, writes: .socket { source.yield($0) })
    let adapter = try await lab.adapter(0)
    opened = (
      try await adapter.offer([LocalService("180d", characteristics: [bell, box, drop])]),
      try await adapter.advertise(.init(name: "Kiosk", services: ["180d"]))
    )
  }

  /// The app's manager, which the fake's second adapter serves.
  func central(_ watcher: Watcher) -> CBCentralManager {
    let lab = lab
    return CBCentralManager(delegate: watcher, queue: watcher.queue) {
      (try await lab.session(), lab.adapters[1].name)
    }
  }

  /// A manager that is connected to the device.
  func connectedCentral(_ watcher: Watcher) async throws -> (CBCentralManager, CBPeripheral) {
    let central = central(watcher)
    #expect(await watcher.next() == "state poweredOn")
    central.scanForPeripherals(withServices: [CBUUID(string: "180D")])
    #expect(await watcher.next() == #"found Kiosk ["180D"] -55"#)
    central.stopScan()
    let peripheral = try #require(watcher.peripheral.withLock { $0 })
    central.connect(peripheral)
    #expect(await watcher.next() == "connected connected")
    return (central, peripheral)
  }

  /// Discovers a characteristic of a connected device.
  func characteristic(
    _ uuid: String, of peripheral: CBPeripheral, _ watcher: Watcher
  ) async throws -> CBCharacteristic {
    peripheral.discoverServices([CBUUID(string: "180D")])
    #expect(await watcher.next() == #"services ["180D"]"#)
    let service = try #require(peripheral.services?.first)
    peripheral.discoverCharacteristics(nil, for: service)
    #expect(await watcher.next() == #"characteristics ["2A37", "2A56", "2A58"]"#)
    return try #require(service.characteristics?.first { $0.uuid == CBUUID(string: uuid) })
  }

  /// Waits until bluetoothd has nothing left for the app.
  func isAbandoned() async -> Bool {
    // The fake applies what it was told when it gets to it; it gets to it, or the suite's limit ends the wait.
    while await lab.adapters[1].holdings() != .init() { await Task.yield() }
    return true
  }
}

/// Tests of CoreBluetooth, each with a fake BlueZ of its own.
@Suite("CoreBluetooth over a fake BlueZ", .timeLimit(.minutes(5)))
struct CoreBluetoothTests {}
