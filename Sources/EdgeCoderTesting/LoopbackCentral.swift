import Streams

@testable import EdgeCoder

/// The central's end of a radio in memory: what ``Central`` scans and connects with.
final class LoopbackCentral: PhoneScanner, PhoneConnector {
  let peer: PeerID
  let mtu: Int
  private let phones = Lock<[PhoneID: LoopbackPhone]>([:])
  private let (stream, source) = BoundedStream.make(of: ScanEvent.self, limit: 256, policy: .dropNewest)

  init(_ name: String = "central", mtu: Int = 517) {
    peer = PeerID("/loopback/" + name)
    self.mtu = mtu
    source.yield(.started)
  }

  func scan() -> BoundedStream<ScanEvent> { stream }

  func connect(to id: PhoneID) async throws -> any PhoneConnection {
    guard let phone = phones.withLock({ $0[id] }) else { throw LoopbackError("no such device") }
    return try await phone.connect(peer, mtu: mtu)
  }

  /// The phone comes into sight.
  func see(_ phone: LoopbackPhone, rssi: Int? = -50) {
    phones.withLock { $0[phone.id] = phone }
    source.yield(.seen(PhoneScanResult(id: phone.id, name: phone.name, rssi: rssi)))
  }

  /// The stack forgets the phone.
  func lose(_ phone: LoopbackPhone) { source.yield(.lost(phone.id)) }

  /// The scan stops.
  func stop(_ reason: String) { source.yield(.stopped(reason)) }
}

/// One link of the radio in memory.
final class LoopbackConnection: PhoneConnection {
  private struct State {
    var subscriptions: Set<EdgeCoderCharacteristic> = []
    var isOpen = true
    var link: (any MuxChannel)?
    var values: GATTMuxChannel?
    /// It holds its connections; they must not hold it.
    weak var phone: LoopbackPhone?
  }

  let peer: PeerID
  private let linkMTU: Int
  let (events, source) = BoundedStream.make(of: PhoneConnectionEvent.self, limit: 65536, policy: .dropNewest)
  private let state = Lock(State())

  var mtu: Int? { linkMTU }

  init(phone: LoopbackPhone, peer: PeerID, mtu: Int) {
    self.peer = peer
    linkMTU = mtu
    state.withLock { $0.phone = phone }
  }

  deinit { source.finish() }

  func subscribe(to characteristic: EdgeCoderCharacteristic) async throws {
    let phone = try openPhone()
    if phone.faults.hangingSubscription == characteristic { try await hang() }
    state.withLock { _ = $0.subscriptions.insert(characteristic) }
    // Where one socket serves all, the phone is not told who subscribes, and MTU only of the first.
    try phone.receive(
      phone.addressesSinglePeer
        ? .subscribed(peer, characteristic, mtu: linkMTU) : .subscribed(nil, characteristic, mtu: linkMTU))
  }

  func secure() async throws {
    guard let refusal = try openPhone().faults.refusesToPair else { return }
    throw LoopbackError(refusal)
  }

  func read(_ characteristic: EdgeCoderCharacteristic) async throws -> [UInt8] {
    let phone = try openPhone()
    try phone.receive(.mtu(peer, linkMTU))
    return phone.value(of: characteristic)
  }

  func write(_ piece: [UInt8]) async throws {
    let phone = try openPhone()
    if phone.faults.failsWrites { throw LoopbackError("org.bluez.Error.Failed") }
    guard piece.count <= min(linkMTU - 3, phone.faults.writeLimit) else {
      throw LoopbackError("Invalid attribute value length: \(piece.count)")
    }
    try phone.receive(.write(PhoneWrite(peer: peer, bytes: piece, mtu: linkMTU)))
  }

  func linkBearers() async throws -> [MuxBearer] { try openPhone().linkBearers }

  func openLink(over bearer: MuxBearer) async throws -> any MuxChannel {
    let phone = try openPhone()
    guard !phone.faults.failingBearers.contains(bearer) else { throw LoopbackError("no \(bearer)") }
    let link: any MuxChannel = try bearer == .l2cap ? phone.openLink(from: peer) : openValues()
    state.withLock { $0.link = link }
    return link
  }

  private func openValues() -> GATTMuxChannel {
    let (mtu, peer) = (linkMTU, peer)
    let channel = GATTMuxChannel(
      link: .random(in: .min ... .max), peer: peer,
      bearer: .init(
        valueLimit: { Chunker.requestSize(mtu: mtu) },
        send: { [weak self] in try self?.openPhone().receive(linkValue: $0, mtu: mtu, from: peer) }, end: {}))
    state.withLock { $0.values = channel }
    return channel
  }

  /// A notification of a v2 link, which may be another central's.
  func deliver(linkValue: [UInt8]) {
    let (channel, isOpen) = state.withLock { ($0.values, $0.isOpen) }
    guard isOpen, let value = MuxValue(linkValue), value.link == channel?.link else { return }
    channel?.deliver(value)
  }

  /// Ends the v2 link alone.
  func dropLink() async { await state.withLock { $0.link }?.close() }

  func disconnect() async {
    await dropLink()
    drop("disconnected")
  }

  // MARK: For the air

  func isSubscribed(to characteristic: EdgeCoderCharacteristic) -> Bool {
    state.withLock { $0.isOpen && $0.subscriptions.contains(characteristic) }
  }

  func deliver(_ characteristic: EdgeCoderCharacteristic, _ value: [UInt8]) {
    source.yield(.notification(characteristic, Array(value.prefix(linkMTU - 3))), orEndWith: .overflow)
  }

  func drop(_ reason: String) {
    let (wasOpen, phone) = state.withLock { state in
      defer { state.isOpen = false }
      return (state.isOpen, state.phone)
    }
    guard wasOpen else { return }
    state.withLock { $0.values }?.end()
    source.yield(.disconnected(reason))
    source.finish()
    phone?.remove(self)
  }

  private func openPhone() throws -> LoopbackPhone {
    let phone = state.withLock { $0.isOpen ? $0.phone : nil }
    guard let phone else { throw LoopbackError("not connected") }
    return phone
  }
}
