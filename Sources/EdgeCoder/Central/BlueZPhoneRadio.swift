public import BlueZ
public import Logging
public import Streams
internal import Timing

/// A scanner and connector over BlueZ: finds phones and connects to them with an adapter.
///
/// ```swift
/// import BlueZ
///
/// let session = try await Session.open()
/// let radio = BlueZPhoneRadio(adapter: try await session.adapter())
/// for await case .found(let phone) in radio.scan() { print(phone.name, phone.rssi ?? 0) }
/// ```
public final class BlueZPhoneRadio: PhoneScanner, PhoneConnector {
  private let adapter: Adapter
  private let logger: Logger
  /// The newest handle of each phone in range; older ones are stale after a restart of bluetoothd.
  private let devices = Lock<[PhoneID: Device]>([:])

  /// Creates a radio that uses an adapter, and is idle until ``scan()``.
  public init(adapter: Adapter, logger: Logger = Logger(label: "edgeblue.central")) {
    self.adapter = adapter
    self.logger = logger
  }

  // MARK: PhoneScanner

  /// Starts a scan that lasts as long as the stream is consumed; see ``PhoneScanner/scan()``.
  ///
  /// While the adapter is unavailable or powered off, the scan reports that and waits.
  public func scan() -> BoundedStream<ScanEvent> {
    let tasks = Lock<[Task<Void, Never>]>([])
    let (stream, source) = BoundedStream.make(
      of: ScanEvent.self, limit: 256, onTermination: { for task in tasks.withLock({ $0 }) { task.cancel() } })
    let states = AdapterState.changes(of: adapter)
    let work = [
      Task { await keepScanning(into: source) },
      Task {
        for await state in states {
          switch state {
          case .up:
            source.yield(.started)
            reportAgain(source)
          case .down(let reason):
            source.yield(.stopped(reason))
            // bluetoothd keeps its devices while the adapter is only powered off.
            if !adapter.session.isServiceUp || adapter.name == nil { removeAll(source) }
          }
        }
      },
    ]
    tasks.withLock { $0 = work }
    return stream
  }

  private static let backoff = CentralConfiguration.Reconnection().backoff

  /// Keeps a scan running. BlueZ restores a running scan by itself; only starting one can fail here.
  private func keepScanning(into source: BoundedStream<ScanEvent>.Source) async {
    var failures = 0
    while !Task.isCancelled {
      do {
        let filter = Adapter.DiscoveryFilter(services: [BluetoothUUID(stringLiteral: EdgeCoderUUIDs.service)])
        let sightings = try await adapter.discover(filter)
        failures = 0
        source.yield(.started)
        for await sighting in sightings { report(sighting, source) }
      } catch {
        failures += 1
        source.yield(.stopped("\(error)"))
      }
      do {
        let delay = Self.backoff.delay(afterFailures: failures, random: .random(in: 0...1))
        try await TimeSource.continuous.sleep(for: delay)
      } catch {
        return  // cancelled
      }
    }
  }

  private func report(_ sighting: Adapter.ScanResult, _ source: BoundedStream<ScanEvent>.Source) {
    let device = sighting.device
    let id = PhoneID(device.path.description)
    if sighting.isLost {
      devices.withLock { $0[id] = nil }
      source.yield(.lost(id))
    } else {
      devices.withLock { $0[id] = device }
      source.yield(.found(PhoneScanResult(id: id, name: device.name ?? device.peer.description, rssi: sighting.rssi)))
    }
  }

  /// Reports the phones that bluetoothd still has: it does not report an unchanged device again.
  private func reportAgain(_ source: BoundedStream<ScanEvent>.Source) {
    for (id, device) in devices.withLock({ $0 }) where device.address != nil {
      source.yield(.found(PhoneScanResult(id: id, name: device.name ?? device.peer.description, rssi: device.rssi)))
    }
  }

  private func removeAll(_ source: BoundedStream<ScanEvent>.Source) {
    let removed = devices.withLock { devices in
      defer { devices = [:] }
      return devices.keys.sorted()
    }
    for id in removed { source.yield(.lost(id)) }
  }

  // MARK: PhoneConnector

  /// Connects to a phone and discovers the service; see ``PhoneConnector/connect(to:)``.
  /// - Throws: `BlueZError`, or `CancellationError`.
  public func connect(to phone: PhoneID) async throws -> any PhoneConnection {
    guard let device = devices.withLock({ $0[phone] }) else {
      throw BlueZError(.deviceNotFound, "\(phone) is out of range")
    }
    // One attempt: the caller has a back-off of its own.
    _ = try await device.connect(.direct(attempts: 1))
    do {
      return try BlueZPhoneConnection(device, logger: logger)
    } catch {
      // In a task of its own, because this one may be cancelled.
      await Task { [logger] in await BlueZPhoneConnection.end(device, logger) }.value
      throw error
    }
  }
}
