public import BlueZ
import Logging
public import Streams

/// A phone transport over BlueZ: the EdgeCoder service on an adapter.
///
/// The service and its advertisement are registered again after a restart of bluetoothd, a power cycle or a replug of the
/// adapter. The service ends with ``stop()``, or with the process.
///
/// ```swift
/// import BlueZ
///
/// let session = try await Session.open()
/// let transport = try await BlueZPhoneTransport.start(
///   on: session.adapter(), name: "Workshop", access: .encrypted(), muxBearers: [.l2cap, .gatt])
/// print(transport.muxBearers)
/// try await transport.stop()
/// ```
public final class BlueZPhoneTransport: PhoneTransport {
  /// The limit on the advertised name, 26 bytes of UTF-8.
  ///
  /// The longest name of the phone application is `EdgeCoder-` and 16 characters. The scan response, which carries the
  /// name, has 29 bytes for it.
  public static let nameLimit = 26

  /// A Boolean value that indicates whether a notification can be sent to a single central, as from BlueZ 5.76.
  public let addressesSinglePeer: Bool

  /// The bearers over which the phone accepts v2 muxes.
  ///
  /// These are the requested ones, without L2CAP where the kernel offers no channels and GATT was requested, too.
  public var muxBearers: Set<MuxBearer> { muxAcceptor?.bearers ?? [] }

  /// The number of writes refused without an event; see ``PhoneTransport/writesRefused``.
  public var writesRefused: Int { refusals.value }

  /// The events of the radio in order, for one consumer.
  public let events: BoundedStream<PhoneTransportEvent>

  /// The channels of the v2 muxes that centrals open; `nil` if no mux is offered.
  public let muxChannels: BoundedStream<any MuxChannel>?

  // 1024 writes of 512 bytes are half a megabyte; the next one is refused with an ATT error.
  private let source: BoundedStream<PhoneTransportEvent>.Source
  private let values = Lock(ReadableValues())
  private let control: AccessControl
  private let characteristics: [EdgeCoderCharacteristic: LocalCharacteristic]
  /// The characteristic that tells a central that it must pair; none in the open mode.
  private let closed: [LocalCharacteristic]
  private let registrations = Lock<(application: GATTApplication, advertisement: Advertisement)?>(nil)
  private let muxAcceptor: PhoneMuxAcceptor?
  private let refusals: Counter
  private let watchers = Lock<[Task<Void, Never>]>([])

  /// Registers the service on an adapter and advertises it.
  /// - Parameters:
  ///   - adapter: A powered adapter.
  ///   - name: The name to advertise, truncated to ``nameLimit`` bytes; `nil` advertises no name.
  ///   - access: The centrals that may send requests. In the modes `encrypted` and `authenticated` they must have paired
  ///     within a pairing window (`Adapter.openPairingWindow(for:)`) of this or another program.
  ///   - bonds: The bonds that a user made with centrals; `nil` admits every bond of the adapter, also one that this host
  ///     made as a central, or that another pairing agent agreed to.
  ///   - muxBearers: The bearers over which v2 muxes are offered; see `docs/v2-mux.md` and ``muxBearers``.
  /// - Throws: `BlueZError`, as `Adapter.offer`, `Adapter.advertise` and, in the closed modes, `Adapter.connections`.
  public static func start(
    on adapter: Adapter, name: String? = nil, access: AccessPolicy = .encrypted(),
    bonds: BondStore? = nil, muxBearers: Set<MuxBearer> = []
  ) async throws -> BlueZPhoneTransport {
    try await start(on: adapter, name: name, access: access, bonds: bonds, muxBearers: muxBearers) {
      try $0.connections()
    }
  }

  /// Registers the service on an adapter with a source of the kernel's connections.
  package static func start(
    on adapter: Adapter, name: String?, access: AccessPolicy, bonds: BondStore?, muxBearers: Set<MuxBearer>,
    connections: @escaping KernelConnections
  ) async throws -> BlueZPhoneTransport {
    // Only the kernel knows whether a connection is encrypted; where it cannot be queried, no closed mode is enforced.
    if access.mode != .open { _ = try connections(adapter) }
    // A damaged list would admit no central, without a reason that a user sees.
    if access.mode != .open { _ = try bonds?.bonds() }
    let version = await adapter.session.version()
    let control = AccessControl(
      adapter, access, bonds: access.mode == .open ? nil : bonds, connections: connections)
    let transport = try BlueZPhoneTransport(
      addressesSinglePeer: version?.has(.notifiesOnePeer) ?? false, adapter: adapter, control: control,
      muxBearers: muxBearers)
    // Subscribed before the registration: a central may connect as soon as the service exists.
    transport.watch(adapter, reportsPeers: version?.has(.socketPerPeer) ?? false)
    do {
      let application = try await adapter.offer([transport.service])
      let shown = name.map { BlueZPhoneTransport.truncate($0, to: nameLimit) }
      let service = BluetoothUUID(stringLiteral: EdgeCoderUUIDs.service)
      let advertisement = try await adapter.advertise(.init(name: shown, services: [service]))
      transport.registrations.withLock { $0 = (application, advertisement) }
    } catch {
      transport.end()
      throw error
    }
    transport.source.yield(.transportUp)
    return transport
  }

  private init(
    addressesSinglePeer: Bool, adapter: Adapter, control: AccessControl, muxBearers: Set<MuxBearer>
  ) throws {
    let access = control.policy
    self.addressesSinglePeer = addressesSinglePeer
    let (events, source) = BoundedStream.make(of: PhoneTransportEvent.self, limit: 1024, policy: .dropNewest)
    let values = values
    control.onRefusal.withLock { $0 = { source.yield(.accessRefused(PeerID($0), $1)) } }
    self.events = events
    self.source = source
    self.control = control
    let refusals = Counter()
    self.refusals = refusals
    muxAcceptor =
      muxBearers.isEmpty
      ? nil
      : try PhoneMuxAcceptor(
        adapter, access, control, bearers: muxBearers, addressesSinglePeer: addressesSinglePeer
      ) { peer in
        if !source.yield(.writeRefused(peer)) { refusals.increment() }
      }
    muxChannels = muxAcceptor?.channels

    func notifying(_ characteristic: EdgeCoderCharacteristic) -> LocalCharacteristic {
      LocalCharacteristic(
        BluetoothUUID(stringLiteral: characteristic.uuid), access.readFlags.union(access.notifyFlags),
        read: { request in
          try control.check(request.peer)
          source.yield(.mtu(PeerID(request.peer), request.mtu))
          return values.withLock { $0.value(of: characteristic, for: PeerID(request.peer)) }
        })
    }
    let request = LocalCharacteristic(
      BluetoothUUID(stringLiteral: EdgeCoderUUIDs.request), access.writeFlags,
      writes: .handler { request in
        try control.check(request.peer)
        let write = PhoneWrite(
          peer: PeerID(request.peer), bytes: request.value, offset: request.offset, mtu: request.mtu,
          withResponse: request.kind != .command)
        guard source.yield(.write(write)) else {
          refusals.increment()
          throw AttributeRefusal.failed
        }
      })
    let mode = LocalCharacteristic(
      BluetoothUUID(stringLiteral: EdgeCoderUUIDs.access), .read, read: { _ in Array(access.mode.rawValue.utf8) })
    closed = access.mode == .open ? [] : [mode]
    characteristics = [.request: request, .response: notifying(.response), .status: notifying(.status)]
  }

  private var service: LocalService {
    LocalService(
      BluetoothUUID(stringLiteral: EdgeCoderUUIDs.service),
      characteristics: EdgeCoderCharacteristic.allCases.compactMap { characteristics[$0] } + closed
        + (muxAcceptor?.characteristics ?? []))
  }

  deinit { end() }

  // MARK: PhoneTransport

  /// Sends one notification; see ``PhoneTransport/notify(_:_:to:)``.
  public func notify(_ characteristic: EdgeCoderCharacteristic, _ value: [UInt8], to peer: PeerID?) async throws {
    guard let local = characteristics[characteristic] else { return }
    do {
      try await control.waitForPermittedReceivers()
      if let peer = peer?.bluez {
        try await local.notify(value, to: peer)
      } else {
        try await local.notify(value)
      }
    } catch let error as BlueZError {
      throw PhoneTransportError(error.code == .notConnected ? .notSubscribed : .failed, error.description)
    }
  }

  /// Sets what a read returns; see ``PhoneTransport/setValue(_:of:for:)``.
  public func setValue(_ value: [UInt8], of characteristic: EdgeCoderCharacteristic, for peer: PeerID?) async {
    values.withLock { $0.set(value, of: characteristic, for: peer) }
  }

  // MARK: Stopping

  /// Stops advertising and unregisters the service.
  /// - Throws: `BlueZError` when bluetoothd fails to unregister; the service ends in any case.
  public func stop() async throws {
    end()
    guard let (application, advertisement) = registrations.withLock({ $0.take() }) else { return }
    var failure: (any Error)?
    do { try await advertisement.stop() } catch { failure = error }
    try await application.unregister()
    if let failure { throw failure }
  }

  private func end() {
    for watcher in watchers.withLock({ $0 }) { watcher.cancel() }
    source.finish()
    muxAcceptor?.close()
  }

  // MARK: Events

  /// - Parameter reportsPeers: A Boolean value that indicates whether bluetoothd has a socket for each subscriber; before
  ///   5.69 it reports only the first subscriber, and its end ends all subscriptions.
  private func watch(_ adapter: Adapter, reportsPeers: Bool) {
    let source = source
    var tasks: [Task<Void, Never>] = []
    for (characteristic, local) in characteristics where characteristic != .request {
      let subscriptions = local.subscriptions()
      tasks.append(
        Task {
          for await event in subscriptions {
            switch event {
            case .subscribed(let peer, let mtu):
              source.yield(.mtu(PeerID(peer), mtu))
              source.yield(.subscribed(reportsPeers ? PeerID(peer) : nil, characteristic, mtu: nil))
            case .unsubscribed(let peer):
              source.yield(.unsubscribed(reportsPeers ? PeerID(peer) : nil, characteristic))
            }
          }
        })
    }
    let watch = control.watch()
    tasks.append(Task { await watch.run() })
    tasks.append(followConnections(of: adapter))
    let hub = muxAcceptor?.hub
    let states = AdapterState.changes(of: adapter)
    tasks.append(
      Task {
        for await state in states {
          switch state {
          case .up: source.yield(.transportUp)
          case .down(let reason):
            hub?.endAll()
            source.yield(.transportDown(reason))
          }
        }
      })
    watchers.withLock { [tasks] in $0 = tasks }
  }

  /// Reports the connections of an adapter, which are the centrals and others.
  private func followConnections(of adapter: Adapter) -> Task<Void, Never> {
    let connections = adapter.connectionEvents()
    let hub = muxAcceptor?.hub
    let values = values
    let source = source
    for peer in adapter.connectedPeers {
      source.yield(.connected(PeerID(peer)))
      reportMTU(of: peer, at: adapter)
    }
    return Task { [weak self] in
      for await event in connections {
        switch event {
        case .connected(let peer):
          source.yield(.connected(PeerID(peer)))
          self?.reportMTU(of: peer, at: adapter)
        case .disconnected(let peer, _):
          hub?.end(PeerID(peer))
          values.withLock { $0.forget(PeerID(peer)) }
          source.yield(.disconnected(PeerID(peer)))
        }
      }
    }
  }

  /// Reports the MTU of a connection once bluetoothd knows it as the client of the peer's services: of a listener that
  /// neither reads nor writes it is known in no other way.
  private func reportMTU(of peer: Peer, at adapter: Adapter) {
    // Where each subscriber is reported, so is its MTU.
    guard !addressesSinglePeer, let device = adapter.device(peer) else { return }
    let events = device.events()
    let source = source
    Task {
      if let mtu = device.mtu {
        source.yield(.mtu(PeerID(peer), mtu))
        return
      }
      for await event in events {
        switch event {
        case .servicesResolved:
          if let mtu = device.mtu { source.yield(.mtu(PeerID(peer), mtu)) }
          return
        case .disconnected, .gone: return
        default: continue
        }
      }
    }
  }

  /// Returns the longest prefix of a name within a limit in bytes of UTF-8.
  static func truncate(_ name: String, to limit: Int) -> String {
    var name = name
    while name.utf8.count > limit { name.removeLast() }
    return name
  }
}
