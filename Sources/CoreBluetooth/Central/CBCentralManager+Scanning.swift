import BlueZ
import Streams

extension CBCentralManager {
  /// A Boolean value that indicates whether the manager scans for devices.
  public var isScanning: Bool { shared.withLock { $0.scan != nil } }

  /// Scans for devices until ``stopScan()``, or until the adapter is switched off; a scan that is running is replaced.
  /// - Parameters:
  ///   - serviceUUIDs: The services of which a device has to advertise one; `nil` finds every device.
  ///   - options: ``CBCentralManagerScanOptionAllowDuplicatesKey`` for every advertisement instead of one call for each
  ///     device.
  public func scanForPeripherals(withServices serviceUUIDs: [CBUUID]?, options: [String: Any]? = nil) {
    guard let adapter = radio.adapter, state == .poweredOn else {
      Radio.logger.error("scanForPeripherals: the manager is \(state)")
      return
    }
    let scan = Scan(
      services: Set((serviceUUIDs ?? []).map(\.bluetoothUUID)),
      duplicates: options.flag(CBCentralManagerScanOptionAllowDuplicatesKey))
    let earlier = shared.withLock { shared in
      defer { shared.scan = scan }
      return shared.scan
    }
    earlier?.stop()
    let callbacks = callbacks
    scan.start(at: adapter) { [weak self] result in
      await callbacks.deliver { [weak self] in self?.found(result, by: scan) }
    }
  }

  /// Stops the scan for devices.
  public func stopScan() {
    let scan = shared.withLock { shared in
      defer { shared.scan = nil }
      return shared.scan
    }
    scan?.stop()
  }

  /// Tells of a result, on the manager's queue.
  private func found(_ result: Adapter.ScanResult, by scan: Scan) {
    guard shared.withLock({ $0.scan === scan }), let data = result.advertisement,
      let peripheral = peripheral(of: result.device), scan.isNews(peripheral.identifier)
    else { return }
    // CoreBluetooth has the number of the Core Specification for a strength that was not measured.
    let rssi = NSNumber(value: data.rssi ?? 127)
    delegate?.centralManager(self, didDiscover: peripheral, advertisementData: data.dictionary, rssi: rssi)
  }
}

/// A scan of one manager.
final class Scan: Sendable {
  private struct Shared {
    var found: Set<UUID> = []
    var work: Task<Void, Never>?
  }

  private let filter: Adapter.DiscoveryFilter
  private let shared = Lock(Shared())

  init(services: Set<BluetoothUUID>, duplicates: Bool) {
    filter = Adapter.DiscoveryFilter(services: services, duplicates: duplicates)
  }

  /// Scans until ``stop()``, also where another program prevents it for a while: the app cannot be told of failures.
  func start(at adapter: Adapter, _ report: @escaping @Sendable (Adapter.ScanResult) async -> Void) {
    let filter = filter
    let work = Task {
      do {
        while true {
          do {
            for await result in try await adapter.discover(filter) where !result.isLost { await report(result) }
          } catch let error as BlueZError {
            Radio.logger.warning("the scan waits", metadata: ["error": "\(error)"])
          }
          try await Task.sleep(for: .seconds(1), clock: .continuous)
        }
      } catch {
        // Cancelled: the app has stopped the scan.
      }
    }
    shared.withLock { $0.work = work }
  }

  func stop() { shared.withLock { $0.work }?.cancel() }

  /// Returns `true` if the app is to be told of a device, which it is once in each scan without duplicates.
  func isNews(_ identifier: UUID) -> Bool {
    shared.withLock { $0.found.insert(identifier).inserted } || filter.duplicates
  }
}
