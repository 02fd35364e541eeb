import BlueZ
import Logging
import Streams
import Timing

/// A connection to a phone over BlueZ.
final class BlueZPhoneConnection: PhoneConnection {
  let events: BoundedStream<PhoneConnectionEvent>

  private let device: Device
  private let adapter: Adapter
  private let admission: PhoneAdmission
  private let security: KernelSecurity
  private let logger: Logger
  private let characteristics: [EdgeCoderCharacteristic: RemoteCharacteristic]
  private let source: BoundedStream<PhoneConnectionEvent>.Source
  private let offer = Lock<MuxOffer?>(nil)
  private let tasks = Lock<[Task<Void, Never>]>([])

  /// The number of notifications that may wait: 2 MiB, 40 s of a phone that sends one every 10 ms.
  private static let backlog = 4096

  /// - Throws: `BlueZError` when the device has no EdgeCoder service, or has disconnected.
  init(
    _ device: Device, at adapter: Adapter, _ admission: PhoneAdmission, security: @escaping KernelSecurity,
    logger: Logger
  ) throws {
    self.device = device
    self.adapter = adapter
    self.admission = admission
    self.security = security
    self.logger = logger
    let service = BluetoothUUID(stringLiteral: EdgeCoderUUIDs.service)
    var characteristics: [EdgeCoderCharacteristic: RemoteCharacteristic] = [:]
    for characteristic in EdgeCoderCharacteristic.allCases {
      let uuid = BluetoothUUID(stringLiteral: characteristic.uuid)
      characteristics[characteristic] = try device.characteristic(uuid, in: service)
    }
    self.characteristics = characteristics
    let (events, source) = BoundedStream.make(
      of: PhoneConnectionEvent.self, limit: Self.backlog, policy: .dropNewest)
    self.events = events
    self.source = source

    let changes = device.events()
    let watcher = Task {
      for await change in changes {
        switch change {
        case .disconnected(let reason):
          Self.finish(source, "the phone disconnected" + (reason.map { ": \($0)" } ?? ""))
        case .gone: Self.finish(source, "bluetoothd removed the phone, or has stopped")
        case .rssi(let rssi): source.yield(.rssi(rssi), orEndWith: .overflow)
        case .connected, .servicesResolved, .servicesChanged, .batteryLevel, .identityResolved, .property: break
        }
      }
    }
    tasks.withLock { $0.append(watcher) }
    // The end of the connection is reported from here on; it may have ended before.
    guard device.isConnected else {
      watcher.cancel()
      throw BlueZError(.notConnected, "the connection to \(device) closed")
    }
  }

  deinit { stop() }

  var mtu: Int? { device.mtu }

  /// - Throws: ``PhoneConnectionFailure`` when a user must act; `BlueZError` when the connection failed.
  func secure() async throws {
    var mode: AccessMode?
    if let access = try addition(EdgeCoderUUIDs.access) {
      // A mode of a later version demands no less than encryption.
      mode = AccessMode(rawValue: String(decoding: try await access.read(), as: UTF8.self)) ?? .encrypted
    }
    if let refusal = try admission.refusal(of: device, at: adapter, demanding: mode) { throw refusal }
    guard mode == .authenticated else { return }
    try await checkAuthentication()
    if let refusal = try await admission.refusalOfKeys(of: device, by: security) { throw refusal }
  }

  /// Checks that the phone accepts the bond as authenticated, which BlueZ does not report.
  ///
  /// A demand for more security than the connection has makes the kernel pair again. If that fails the connection closes,
  /// and bluetoothd 5.66 leaves the read that caused it without a reply.
  private func checkAuthentication() async throws {
    let status = try remote(.status)
    let rejected = PhoneAdmission.failure(
      device, .bondRejected, "requires pairing by passkey entry or numeric comparison, and rejects the present bond")
    do {
      // Long enough for a user who is asked to confirm the new pairing.
      _ = try await TimeSource.continuous.withLimit(.seconds(15), orThrow: rejected) { try await status.read() }
    } catch let error as BlueZError where [.attributeError, .notPermitted, .notConnected].contains(error.code) {
      throw rejected
    }
  }

  func subscribe(to characteristic: EdgeCoderCharacteristic) async throws {
    let values = try await remote(characteristic).notifications(limit: Self.backlog)
    let source = source
    let reader = Task {
      do {
        for try await value in values { source.yield(.notification(characteristic, value), orEndWith: .overflow) }
      } catch {
        // The only error is a gap, which no reply survives.
        source.yield(.overflow)
        return source.finish()
      }
      // BlueZ ends the subscription with the connection, and 5.66 does not always report the latter.
      if !Task.isCancelled { Self.finish(source, "the connection closed") }
    }
    tasks.withLock { $0.append(reader) }
  }

  func read(_ characteristic: EdgeCoderCharacteristic) async throws -> [UInt8] {
    try await remote(characteristic).read()
  }

  func write(_ piece: [UInt8]) async throws {
    try await remote(.request).write(piece, .withResponse)
  }

  func muxBearers() async throws -> [MuxBearer] {
    guard let characteristic = try addition(EdgeCoderUUIDs.muxOffer) else { return [] }
    let found = MuxOffer(try await characteristic.read())
    offer.withLock { $0 = found }
    return found?.bearers ?? []
  }

  func openMux(over bearer: MuxBearer) async throws -> any MuxChannel {
    switch bearer {
    case .l2cap:
      guard let psm = offer.withLock({ $0?.psm }) else { break }
      // Of the kernel, too: should the connection be lost just now, it makes another one, with whoever has the address.
      return L2CAPMuxChannel(
        try await device.openChannel(psm: psm, security: admission.policy.securityLevel, mtu: MuxFrame.longest))
    case .gatt:
      guard let values = try addition(EdgeCoderUUIDs.muxValues) else { break }
      let (channel, reader) = try await GATTMuxChannel.open(over: values)
      tasks.withLock { $0.append(reader) }
      return channel
    }
    throw BlueZError(.notSupported, "\(device) offers no v2 mux over \(bearer.rawValue)")
  }

  /// Returns a characteristic that only some phones have.
  private func addition(_ uuid: String) throws -> RemoteCharacteristic? {
    let service = BluetoothUUID(stringLiteral: EdgeCoderUUIDs.service)
    return try device.characteristics(BluetoothUUID(stringLiteral: uuid), in: service).first
  }

  /// Disconnects before the subscriptions end.
  ///
  /// Unsubscribing while connected is a write to the phone, and bluetoothd 5.66 corrupts its memory when the phone removes
  /// its services before the response (`disable_ccc_callback` in gatt-client.c then uses a freed subscription).
  func disconnect() async {
    source.finish()
    await Self.end(device, logger)
    stop()
  }

  /// Disconnects a device; a failure is only logged.
  ///
  /// bluetoothd keeps the connections of a program that has ended, so this also runs for a task that is cancelled.
  static func end(_ device: Device, _ logger: Logger) async {
    await Task {
      do {
        try await device.disconnect()
      } catch {
        logger.debug("disconnecting failed", metadata: ["phone": "\(device.path)", "reason": "\(error)"])
      }
    }.value
  }

  private func remote(_ characteristic: EdgeCoderCharacteristic) throws -> RemoteCharacteristic {
    guard let remote = characteristics[characteristic] else {
      throw BlueZError(.notSupported, "the phone has no characteristic \(characteristic)")
    }
    return remote
  }

  private func stop() {
    for task in tasks.withLock({ $0 }) { task.cancel() }
  }

  private static func finish(_ source: BoundedStream<PhoneConnectionEvent>.Source, _ reason: String) {
    source.yield(.disconnected(reason))
    source.finish()
  }
}
