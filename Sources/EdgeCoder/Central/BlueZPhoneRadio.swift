public import BlueZ
public import Logging
public import Streams
internal import Timing

/// A scanner and connector over BlueZ: finds phones and connects to them with an adapter.
///
/// Without an argument it uses only phones that are bonded with the adapter, over encrypted connections. It never pairs:
/// a user does that with `Device.pair`, and the phone is used from then on. Every other device that advertises the
/// service is reported with ``PhoneScanResult/refusal``, is not connected, and receives nothing.
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
  private let admission: PhoneAdmission
  private let security: KernelSecurity
  private let logger: Logger
  /// The newest handle of each phone in range; older ones are stale after a restart of bluetoothd.
  private let devices = Lock<[PhoneID: Device]>([:])

  /// Creates a radio that uses an adapter, and is idle until ``scan()``.
  /// - Parameters:
  ///   - adapter: The adapter that scans and connects.
  ///   - access: The phones that may receive prompts. In the modes `encrypted` and `authenticated` these are bonded
  ///     phones that demand this security; `open` uses every device that advertises the service.
  ///   - bonds: The bonds that a user made with phones; `nil` admits every bond of the adapter.
  ///   - logger: The logger, which never receives text of a prompt or a reply.
  public convenience init(
    adapter: Adapter, access: AccessPolicy = .encrypted(), bonds: BondStore? = nil,
    logger: Logger = Logger(label: "edgeblue.central")
  ) {
    self.init(
      adapter: adapter, access: access, bonds: bonds, logger: logger, connections: { try $0.connections() },
      security: { try await $0.provides($1) })
  }

  /// Creates a radio with sources of what the kernel knows.
  package init(
    adapter: Adapter, access: AccessPolicy, bonds: BondStore?, logger: Logger,
    connections: @escaping KernelConnections, security: @escaping KernelSecurity
  ) {
    self.adapter = adapter
    admission = PhoneAdmission(policy: access, bonds: bonds, connections: connections)
    self.security = security
    self.logger = logger
  }

  // MARK: PhoneScanner

  /// Starts a scan that lasts as long as the stream is consumed; see ``PhoneScanner/scan()``.
  ///
  /// While the adapter is unavailable or powered off, the scan reports that and waits. A bond that is made meanwhile under
  /// the identity of a phone in the list of bonds ends the admission of this phone: its keys are not those that the user
  /// made.
  public func scan() -> BoundedStream<ScanEvent> {
    let tasks = Lock<[Task<Void, Never>]>([])
    let (stream, source) = BoundedStream.make(
      of: ScanEvent.self, limit: 256, onTermination: { for task in tasks.withLock({ $0 }) { task.cancel() } })
    let states = AdapterState.changes(of: adapter)
    let bonds = adapter.newBonds()
    let bondGuard = admission.bondGuard(at: adapter)
    let work = [
      Task { if let bondGuard { await bondGuard.run { reportClaim(of: $0) } } },
      Task { for await _ in bonds { await reportBond(source) } },
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
      source.yield(.found(result(id, device, rssi: sighting.rssi)))
    }
  }

  private func result(_ id: PhoneID, _ device: Device, rssi: Int?) -> PhoneScanResult {
    let mayChangeAddress = if case .object = device.id { true } else { false }
    return PhoneScanResult(
      id: id, name: device.name ?? device.peer.description, rssi: rssi,
      refusal: admission.refusal(of: device, at: adapter), mayChangeAddress: mayChangeAddress)
  }

  /// Reports a phone again that was bonded meanwhile.
  ///
  /// The program that pairs adds the bond to the list when bluetoothd has reported it, so there is a second look.
  private func reportBond(_ source: BoundedStream<ScanEvent>.Source) async {
    reportAgain(source)
    guard admission.bonds != nil else { return }
    do { try await TimeSource.continuous.sleep(for: .seconds(2)) } catch { return }
    reportAgain(source)
  }

  private func reportClaim(of phone: Peer) {
    logger.notice(
      "phone refused", metadata: ["phone": "\(phone)", "reason": "\(AccessRefusal.identityClaimed.rawValue)"])
  }

  /// Reports the phones that bluetoothd still has: it does not report an unchanged device again.
  private func reportAgain(_ source: BoundedStream<ScanEvent>.Source) {
    for (id, device) in devices.withLock({ $0 }) where device.address != nil {
      source.yield(.found(result(id, device, rssi: device.rssi)))
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
  /// - Throws: ``PhoneConnectionFailure`` for a phone that is not admitted; `BlueZError`, or `CancellationError`.
  public func connect(to phone: PhoneID) async throws -> any PhoneConnection {
    guard let device = devices.withLock({ $0[phone] }) else {
      throw BlueZError(.deviceNotFound, "\(phone) is out of range")
    }
    if let refusal = admission.refusal(of: device, at: adapter) { throw refusal }
    // One attempt: the caller has a back-off of its own.
    _ = try await device.connect(.direct(attempts: 1))
    do {
      return try BlueZPhoneConnection(device, at: adapter, admission, security: security, logger: logger)
    } catch {
      // In a task of its own, because this one may be cancelled.
      await Task { [logger] in await BlueZPhoneConnection.end(device, logger) }.value
      throw error
    }
  }

  /// Returns `true` if bluetoothd reports a link to the phone; see ``PhoneConnector/isLinked(to:)``.
  public func isLinked(to phone: PhoneID) async -> Bool { devices.withLock { $0[phone] }?.isConnected ?? false }
}
