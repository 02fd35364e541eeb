import BlueZ
import Logging
import Streams
import Timing

/// A connection to a phone over BlueZ.
final class BlueZPhoneConnection: PhoneConnection {
  let events: BoundedStream<PhoneConnectionEvent>

  private let device: Device
  private let logger: Logger
  private let characteristics: [EdgeCoderCharacteristic: RemoteCharacteristic]
  private let source: BoundedStream<PhoneConnectionEvent>.Source
  private let offer = Lock<LinkOffer?>(nil)
  private let tasks = Lock<[Task<Void, Never>]>([])

  /// How many notifications may wait for their reader: 2 MiB of them, 40 s of a phone that sends one every 10 ms.
  private static let backlog = 4096

  /// - Throws: `BlueZError` when the device has no EdgeCoder service, or the link has ended meanwhile.
  init(_ device: Device, logger: Logger) throws {
    self.device = device
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
        case .gone: Self.finish(source, "bluetoothd has forgotten the phone, or is gone itself")
        case .rssi(let rssi): source.yield(.rssi(rssi), orEndWith: .overflow)
        case .connected, .servicesResolved, .batteryLevel, .identityResolved, .property: break
        }
      }
    }
    tasks.withLock { $0.append(watcher) }
    // From here on the end of the link is told; was it before?
    guard device.isConnected else {
      watcher.cancel()
      throw BlueZError(.notConnected, "the link to \(device) ended")
    }
  }

  deinit { stop() }

  var mtu: Int? { device.mtu }

  /// - Throws: `BlueZError` as `Device.pair`, with a hint; `.notPermitted` when this cannot be done without a person.
  func secure() async throws {
    guard let access = try addition(EdgeCoderUUIDs.access) else { return }
    let mode = AccessPolicy.Mode(rawValue: String(decoding: try await access.read(), as: UTF8.self))
    guard !device.isPaired else {
      if mode == .authenticated { try await checkAuthentication() }
      return
    }
    guard mode != .authenticated else {
      throw BlueZError(
        .notPermitted, "\(device) answers only who has paired by a passkey or a comparison",
        hint: "run `edgeblue pair` at the phone, and here `edgeblue pair with \(device.peer)`")
    }
    do {
      try await device.pair()
    } catch let error as BlueZError where Self.refusals.contains(error.code) {
      throw BlueZError(
        error.code, "\(device) answers only who has paired, and does not pair now",
        hint: "run `edgeblue pair` at the phone; this central tries again by itself")
    }
  }

  /// Finds out whether the two have paired well enough, which BlueZ does not say.
  ///
  /// Who wants more than a link gives makes the kernel pair anew. Where that fails the link ends, and bluetoothd 5.66
  /// leaves the question that led to it unanswered.
  private func checkAuthentication() async throws {
    let status = try remote(.status)
    let refused = BlueZError(
      .notPermitted,
      "\(device) answers only who has paired by a passkey or a comparison, and does not take the pairing there is",
      hint: "forget it: `edgeblue pair remove \(device.peer)` here, and the same with this machine's address at the "
        + "phone; then run `edgeblue pair` there, and here `edgeblue pair with \(device.peer)`")
    do {
      // Long enough for a person who is asked about the new pairing.
      _ = try await TimeSource.continuous.withLimit(.seconds(15), orThrow: refused) { try await status.read() }
    } catch let error as BlueZError where [.attributeError, .notPermitted, .notConnected].contains(error.code) {
      throw refused
    }
  }

  private static let refusals: [BlueZError.Code] = [
    .authenticationFailed, .authenticationRejected, .authenticationCancelled,
  ]

  func subscribe(to characteristic: EdgeCoderCharacteristic) async throws {
    let values = try await remote(characteristic).notifications(limit: Self.backlog)
    let source = source
    let reader = Task {
      do {
        for try await value in values { source.yield(.notification(characteristic, value), orEndWith: .overflow) }
      } catch {
        // The only error there is: a gap, which no reply survives.
        source.yield(.overflow)
        return source.finish()
      }
      // BlueZ ends it with the link, and 5.66 does not always say that the link ended.
      if !Task.isCancelled { Self.finish(source, "the link ended") }
    }
    tasks.withLock { $0.append(reader) }
  }

  func read(_ characteristic: EdgeCoderCharacteristic) async throws -> [UInt8] {
    try await remote(characteristic).read()
  }

  func write(_ piece: [UInt8]) async throws {
    try await remote(.request).write(piece, .withResponse)
  }

  func linkBearers() async throws -> [LinkBearer] {
    guard let characteristic = try addition(EdgeCoderUUIDs.link) else { return [] }
    let found = LinkOffer(try await characteristic.read())
    offer.withLock { $0 = found }
    return found?.bearers ?? []
  }

  func openLink(over bearer: LinkBearer) async throws -> any LinkChannel {
    switch bearer {
    case .l2cap:
      guard let psm = offer.withLock({ $0?.psm }) else { break }
      return L2CAPLinkChannel(try await device.openChannel(psm: psm, mtu: LinkFrame.longest))
    case .gatt:
      guard let values = try addition(EdgeCoderUUIDs.linkValues) else { break }
      let (channel, reader) = try await GATTLinkChannel.open(over: values)
      tasks.withLock { $0.append(reader) }
      return channel
    }
    throw BlueZError(.notSupported, "\(device) offers no v2 link over \(bearer.rawValue)")
  }

  /// A characteristic that not every phone has.
  private func addition(_ uuid: String) throws -> RemoteCharacteristic? {
    let service = BluetoothUUID(stringLiteral: EdgeCoderUUIDs.service)
    return try device.characteristics(BluetoothUUID(stringLiteral: uuid), in: service).first
  }

  /// The subscriptions end after the link. To end one while there is a link is a write to the phone, and bluetoothd 5.66
  /// corrupts its memory when the phone takes its services away before that write is answered (`disable_ccc_callback`
  /// of its gatt-client.c then uses the subscription that it has freed).
  func disconnect() async {
    source.finish()
    await Self.end(device, logger)
    stop()
  }

  /// Ends a link; that it cannot be ended is no reason to keep it.
  ///
  /// bluetoothd keeps a link whose program went away, so this is done also for a task that is cancelled.
  static func end(_ device: Device, _ logger: Logger) async {
    await Task {
      do {
        try await device.disconnect()
      } catch {
        logger.debug("not disconnected", metadata: ["phone": "\(device.path)", "reason": "\(error)"])
      }
    }.value
  }

  private func remote(_ characteristic: EdgeCoderCharacteristic) throws -> RemoteCharacteristic {
    guard let remote = characteristics[characteristic] else {
      throw BlueZError(.notSupported, "no characteristic \(characteristic)")
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
