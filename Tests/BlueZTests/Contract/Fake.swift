import BlueZ
import Streams
import Testing

/// Contract tests, each with a fake BlueZ of its own.
@Suite("Contract with a fake BlueZ", .timeLimit(.minutes(5)))
struct ContractTests {}

/// A service with one characteristic of each kind.
struct Parlour {
  static let service: BluetoothUUID = "ec0d0001-ec0d-ec0d-ec0d-ec0d0001ec0d"
  static let box: BluetoothUUID = "ec0d0002-ec0d-ec0d-ec0d-ec0d0002ec0d"
  static let bell: BluetoothUUID = "ec0d0003-ec0d-ec0d-ec0d-ec0d0003ec0d"
  static let drop: BluetoothUUID = "ec0d0004-ec0d-ec0d-ec0d-ec0d0004ec0d"

  let content = Lock<[UInt8]>(Array("what is in the box".utf8))
  let dropped = BoundedStream.make(of: [UInt8].self, limit: 64)
  let bell = LocalCharacteristic(Self.bell, [.notify])

  func service() -> LocalService {
    let content = content
    let source = dropped.source
    return LocalService(
      Self.service,
      characteristics: [
        LocalCharacteristic(
          Self.box, [.read, .write], descriptors: [LocalDescriptor("2901", value: Array("a box".utf8))],
          read: { _ in content.withLock { $0 } },
          writes: .handler { request in
            guard request.value != [0] else { throw AttributeRefusal.notPermitted }
            content.withLock { $0 = request.value }
          }),
        bell,
        LocalCharacteristic(Self.drop, [.writeWithoutResponse], writes: .socket { source.yield($0) }),
      ])
  }

  /// Registers and advertises the service.
  func open(on adapter: Adapter) async throws -> (GATTApplication, Advertisement) {
    let application = try await adapter.offer([service()])
    return (application, try await adapter.advertise(.init(name: "Parlour", services: [Self.service])))
  }
}

/// Returns the first device that a scan finds.
func firstSeen(by adapter: Adapter, _ service: BluetoothUUID = Parlour.service) async throws -> Device {
  try await firstScanResult(by: adapter, service).device
}

/// Returns the first scan result; its RSSI becomes unknown when the scan has ended.
func firstScanResult(
  by adapter: Adapter, _ service: BluetoothUUID = Parlour.service
) async throws -> Adapter.ScanResult {
  for await sighting in try await adapter.discover(.init(services: [service])) where !sighting.isLost {
    return sighting
  }
  throw CancellationError()
}

/// Returns the code of the error that an operation throws; `nil` when it succeeds.
func code(_ body: () async throws -> some Sendable) async throws -> BlueZError.Code? {
  do {
    _ = try await body()
    return nil
  } catch let error as BlueZError {
    return error.code
  }
}
