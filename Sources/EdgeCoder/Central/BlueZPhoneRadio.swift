public import BlueZ
public import Logging
public import Streams
internal import Timing

/// Finds phones and connects to them with a real adapter, over BlueZ.
public final class BlueZPhoneRadio: PhoneScanner, PhoneConnector {
  private let adapter: Adapter
  private let logger: Logger
  /// The newest handle of each phone in sight; older ones are stale after a restart of bluetoothd.
  private let devices = Lock<[PhoneID: Device]>([:])

  /// Uses an adapter; nothing happens before ``scan()``.
  public init(adapter: Adapter, logger: Logger = Logger(label: "edgeblue.central")) {
    self.adapter = adapter
    self.logger = logger
  }

  // MARK: PhoneScanner

  /// Scans as long as the stream is read; see ``PhoneScanner/scan()``. While the adapter is away or switched off it says
  /// so and waits.
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
            showAgain(source)
          case .down(let reason):
            source.yield(.stopped(reason))
            // bluetoothd keeps its devices while the adapter is only switched off.
            if !adapter.session.isServiceUp || adapter.name == nil { forgetAll(source) }
          }
        }
      },
    ]
    tasks.withLock { $0 = work }
    return stream
  }

  /// BlueZ puts a running scan back by itself; what fails here is starting one.
  private func keepScanning(into source: BoundedStream<ScanEvent>.Source) async {
    var failures = 0
    while !Task.isCancelled {
      do {
        let filter = Adapter.DiscoveryFilter(services: [BluetoothUUID(stringLiteral: EdgeCoderUUIDs.service)])
        let sightings = try await adapter.discover(filter)
        failures = 0
        source.yield(.started)
        for await sighting in sightings { take(sighting, source) }
      } catch {
        failures += 1
        source.yield(.stopped("\(error)"))
      }
      do {
        let pause = Backoff().pause(afterFailures: failures, random: .random(in: -1...1))
        try await TimeSource.continuous.sleep(for: pause)
      } catch {
        return  // cancelled
      }
    }
  }

  private func take(_ sighting: Adapter.ScanResult, _ source: BoundedStream<ScanEvent>.Source) {
    let device = sighting.device
    let id = PhoneID(device.path.description)
    if sighting.isLost {
      devices.withLock { $0[id] = nil }
      source.yield(.lost(id))
    } else {
      devices.withLock { $0[id] = device }
      source.yield(.seen(PhoneSighting(id: id, name: device.name ?? device.peer.description, rssi: sighting.rssi)))
    }
  }

  /// Shows the phones that bluetoothd still knows: it does not tell of them again when they have nothing new to say.
  private func showAgain(_ source: BoundedStream<ScanEvent>.Source) {
    for (id, device) in devices.withLock({ $0 }) where device.address != nil {
      source.yield(.seen(PhoneSighting(id: id, name: device.name ?? device.peer.description, rssi: device.rssi)))
    }
  }

  private func forgetAll(_ source: BoundedStream<ScanEvent>.Source) {
    let gone = devices.withLock { devices in
      defer { devices = [:] }
      return devices.keys.sorted()
    }
    for id in gone { source.yield(.lost(id)) }
  }

  // MARK: PhoneConnector

  /// Connects and finds the service; see ``PhoneConnector/connect(to:)``.
  /// - Throws: `BlueZError`, or `CancellationError`.
  public func connect(to phone: PhoneID) async throws -> any PhoneConnection {
    guard let device = devices.withLock({ $0[phone] }) else {
      throw BlueZError(.deviceNotFound, "\(phone) is out of sight")
    }
    // One attempt: the link has a backoff of its own.
    _ = try await device.connect(.direct(attempts: 1))
    do {
      return try BlueZPhoneConnection(device, logger: logger)
    } catch {
      // Shielded, as the task may be cancelled.
      await Task { [logger] in await BlueZPhoneConnection.end(device, logger) }.value
      throw error
    }
  }
}
