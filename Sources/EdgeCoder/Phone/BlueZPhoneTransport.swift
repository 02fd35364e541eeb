public import BlueZ
import Logging
public import Streams

/// The EdgeCoder service on a real adapter, over BlueZ.
///
/// What is registered is declared (see `Session`): after a restart of bluetoothd, a power cycle or a replug the service
/// and its advertisement are put back. The service ends with ``stop()``, or with the process.
public final class BlueZPhoneTransport: PhoneTransport {
  /// The longest name of the phone application: `EdgeCoder-` and 16 characters of the agent's id. It goes into the scan
  /// response, which has room for 29 bytes.
  public static let nameLimit = 26

  /// Whether this bluetoothd can notify one central alone: from 5.76.
  public let addressesSinglePeer: Bool

  /// Over what it takes v2 links. Of those asked for, L2CAP is missing where the kernel gives no channels and GATT was
  /// asked for, too.
  public var linkBearers: Set<LinkBearer> { linkOffer?.bearers ?? [] }

  /// Writes refused so far; see ``PhoneTransport/writesRefused``.
  public var writesRefused: Int { refusals.value }

  /// What happens on the radio, for one consumer.
  public let events: BoundedStream<PhoneEvent>

  /// The v2 links that centrals open; `nil` when none is offered.
  public let links: BoundedStream<any LinkChannel>?

  /// Writes wait here at most; one more is refused with an ATT error. 1024 of 512 bytes are half a megabyte.
  private let source: BoundedStream<PhoneEvent>.Source
  private let values: Lock<[EdgeCoderCharacteristic: [UInt8]]>
  private let control: AccessControl
  private let characteristics: [EdgeCoderCharacteristic: LocalCharacteristic]
  /// What tells a central that it has to pair; none in the open mode.
  private let closed: [LocalCharacteristic]
  private let registrations = Lock<(application: GATTApplication, advertisement: Advertisement)?>(nil)
  private let linkOffer: PhoneLinkOffer?
  private let refusals: Counter
  private let watchers = Lock<[Task<Void, Never>]>([])

  /// Registers the service and advertises it.
  /// - Parameters:
  ///   - adapter: a powered adapter.
  ///   - name: the name to advertise; what is over ``nameLimit`` UTF-8 bytes is cut off. `nil` advertises none.
  ///   - access: who may ask. In the closed modes peers must have paired; for that a person opens a window
  ///     (`Adapter.openPairingWindow(for:)`, with an agent of a session), here or in another program.
  ///   - links: over what to offer v2 links, if at all; see `docs/link-v2.md` and ``linkBearers``.
  /// - Throws: `BlueZError`, as `Adapter.offer`, `Adapter.advertise` and, in the closed modes, `Adapter.links`.
  public static func start(
    on adapter: Adapter, name: String? = nil, access: AccessPolicy = .encrypted(), links: Set<LinkBearer> = []
  ) async throws -> BlueZPhoneTransport {
    // Whether a link is encrypted only the kernel tells; where it may not be asked, no closed mode holds.
    if access.mode != .open { _ = try adapter.connections() }
    let version = await adapter.session.version()
    let transport = try BlueZPhoneTransport(
      addressesSinglePeer: version?.has(.notifiesOnePeer) ?? false, adapter: adapter, access: access,
      links: links)
    // Listening first: a central may come the moment the service is there.
    transport.watch(adapter, tellsPeers: version?.has(.socketPerPeer) ?? false)
    do {
      let application = try await adapter.offer([transport.service])
      let shown = name.map { BlueZPhoneTransport.cut($0, to: nameLimit) }
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

  private init(addressesSinglePeer: Bool, adapter: Adapter, access: AccessPolicy, links: Set<LinkBearer>) throws {
    self.addressesSinglePeer = addressesSinglePeer
    let (events, source) = BoundedStream.make(of: PhoneEvent.self, limit: 1024, policy: .dropNewest)
    let values = Lock<[EdgeCoderCharacteristic: [UInt8]]>([:])
    let control = AccessControl(adapter, access) { source.yield(.refused(PeerID($0), $1)) }
    self.events = events
    self.source = source
    self.values = values
    self.control = control
    let refusals = Counter()
    self.refusals = refusals
    linkOffer =
      links.isEmpty
      ? nil
      : try PhoneLinkOffer(
        adapter, access, control, bearers: links, addressesSinglePeer: addressesSinglePeer,
        refused: refusals.increment)
    self.links = linkOffer?.channels

    func notifying(_ characteristic: EdgeCoderCharacteristic) -> LocalCharacteristic {
      LocalCharacteristic(
        BluetoothUUID(stringLiteral: characteristic.uuid), access.readFlags,
        read: { request in
          try control.check(request.peer)
          source.yield(.mtu(PeerID(request.peer), request.mtu))
          return values.withLock { $0[characteristic] ?? [] }
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
    return LocalService(
      BluetoothUUID(stringLiteral: EdgeCoderUUIDs.service),
      characteristics: EdgeCoderCharacteristic.allCases.compactMap { characteristics[$0] } + closed
        + (linkOffer?.characteristics ?? []))
  }

  deinit { end() }

  // MARK: PhoneTransport

  /// Sends one notification; see ``PhoneTransport/notify(_:_:to:)``.
  public func notify(_ characteristic: EdgeCoderCharacteristic, _ value: [UInt8], to peer: PeerID?) async throws {
    guard let local = characteristics[characteristic] else { return }
    do {
      try await control.waitUntilFriendsOnlyListen()
      if let peer = peer?.bluez {
        try await local.notify(value, to: peer)
      } else {
        try await local.notify(value)
      }
    } catch let error as BlueZError {
      throw PhoneTransportError(error.code == .notConnected ? .notSubscribed : .failed, error.description)
    }
  }

  /// Sets what a read returns; see ``PhoneTransport/setValue(_:of:)``.
  public func setValue(_ value: [UInt8], of characteristic: EdgeCoderCharacteristic) async {
    values.withLock { $0[characteristic] = value }
  }

  // MARK: The end

  /// Ends the advertisement and takes the service away.
  /// - Throws: `BlueZError` when bluetoothd refuses; the service ends all the same.
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
    linkOffer?.close()
  }

  // MARK: What happens

  /// - Parameter tellsPeers: whether bluetoothd makes a socket for each subscriber; below 5.69 it tells of the first
  ///   only, and its end is the end of all.
  private func watch(_ adapter: Adapter, tellsPeers: Bool) {
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
              source.yield(.subscribed(tellsPeers ? PeerID(peer) : nil, characteristic, mtu: nil))
            case .unsubscribed(let peer):
              source.yield(.unsubscribed(tellsPeers ? PeerID(peer) : nil, characteristic))
            }
          }
        })
    }
    tasks.append(Task { [control] in await control.watch() })
    let (connections, hub) = (adapter.connectionEvents(), linkOffer?.hub)
    for peer in adapter.connectedPeers { source.yield(.connected(PeerID(peer))) }
    tasks.append(
      Task {
        for await event in connections {
          switch event {
          case .connected(let peer): source.yield(.connected(PeerID(peer)))
          case .disconnected(let peer, _):
            hub?.end(PeerID(peer))
            source.yield(.disconnected(PeerID(peer)))
          }
        }
      })
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

  /// The longest beginning of a name that has at most so many UTF-8 bytes.
  static func cut(_ name: String, to limit: Int) -> String {
    var name = name
    while name.utf8.count > limit { name.removeLast() }
    return name
  }
}

extension PeerID {
  init(_ peer: Peer) { self.init(peer.path.description) }

  /// The peer as BlueZ knows it; `nil` when the identifier did not come from BlueZ.
  var bluez: Peer? {
    do {
      return Peer(path: try .init(rawValue))
    } catch {
      return nil
    }
  }
}
