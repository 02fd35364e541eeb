public import EdgeCoder
public import Streams

/// The radio of a central in memory: the scanner and connector of a `Central` in tests.
///
/// ```swift
/// import EdgeCoder
///
/// let phone = LoopbackPhone()
/// let air = LoopbackCentral()
/// let central = Central(scanner: air, connector: air)
/// let service = PhoneService(transport: phone, engine: EchoEngine())
/// let reply = try await running([service.run, central.run]) {
///   air.see(phone)
///   while await !central.status().connected { await Task.yield() }
///   return try await central.generate(prompt: "Hello", maxTokens: nil)
/// }
/// print(reply.answer)
/// ```
public final class LoopbackCentral: PhoneScanner, PhoneConnector {
  /// The identifier of the central.
  public let peer: PeerID
  /// The ATT MTU of its connections.
  public let mtu: Int
  private let phones = Lock<[PhoneID: LoopbackPhone]>([:])
  private let (stream, source) = BoundedStream.make(of: ScanEvent.self, limit: 256, policy: .dropNewest)

  /// Creates a central with a name and the ATT MTU of its connections.
  public init(_ name: String = "central", mtu: Int = 517) {
    peer = PeerID("/loopback/" + name)
    self.mtu = mtu
    source.yield(.started)
  }

  /// Returns the events that the test causes.
  public func scan() -> BoundedStream<ScanEvent> { stream }

  /// Connects to a phone that was seen.
  public func connect(to id: PhoneID) async throws -> any PhoneConnection {
    guard let phone = phones.withLock({ $0[id] }) else { throw LoopbackError("no such device") }
    return try await phone.connect(peer, mtu: mtu)
  }

  /// Returns `true` if the phone has a connection, or an attempt that hangs with one.
  public func isLinked(to id: PhoneID) async -> Bool { phones.withLock { $0[id] }?.isLinked(to: peer) ?? false }

  /// Reports a phone as a scan result.
  public func see(_ phone: LoopbackPhone, rssi: Int? = -50, mayChangeAddress: Bool = false) {
    phones.withLock { $0[phone.id] = phone }
    source.yield(
      .found(PhoneScanResult(id: phone.id, name: phone.name, rssi: rssi, mayChangeAddress: mayChangeAddress)))
  }

  /// Reports that the stack has removed the phone.
  public func lose(_ phone: LoopbackPhone) { source.yield(.lost(phone.id)) }

  /// Reports that the scan has stopped.
  public func stop(_ reason: String) { source.yield(.stopped(reason)) }
}

/// One connection of the radio in memory.
public final class LoopbackConnection: PhoneConnection {
  private struct State {
    var subscriptions: Set<EdgeCoderCharacteristic> = []
    var isOpen = true
    var mux: (any MuxChannel)?
    var values: GATTMuxChannel?
    // Weak, because the phone owns its connections.
    weak var phone: LoopbackPhone?
  }

  /// The identifier of the central.
  public let peer: PeerID
  private let attMTU: Int
  /// The events of the connection, for one consumer.
  public let events: BoundedStream<PhoneConnectionEvent>
  private let source: BoundedStream<PhoneConnectionEvent>.Source
  private let state = Lock(State())

  /// The ATT MTU of the connection.
  public var mtu: Int? { attMTU }

  init(phone: LoopbackPhone, peer: PeerID, mtu: Int) {
    self.peer = peer
    attMTU = mtu
    let (events, source) = BoundedStream.make(
      of: PhoneConnectionEvent.self, limit: 65536, policy: .dropNewest)
    self.events = events
    self.source = source
    state.withLock { $0.phone = phone }
  }

  deinit { source.finish() }

  /// Subscribes to a characteristic of the phone.
  public func subscribe(to characteristic: EdgeCoderCharacteristic) async throws {
    let phone = try openPhone()
    if phone.faults.hangingSubscription == characteristic { try await hang() }
    state.withLock { _ = $0.subscriptions.insert(characteristic) }
    // Where one socket serves all, the phone knows no subscriber, and the MTU of the first one only.
    try phone.receive(
      phone.addressesSinglePeer
        ? .subscribed(peer, characteristic, mtu: attMTU) : .subscribed(nil, characteristic, mtu: attMTU))
  }

  /// Pairs, unless the faults of the phone prevent it.
  public func secure() async throws {
    guard let refusal = try openPhone().faults.refusesToPair else { return }
    throw LoopbackError(refusal)
  }

  /// Reads the value of a characteristic.
  public func read(_ characteristic: EdgeCoderCharacteristic) async throws -> [UInt8] {
    let phone = try openPhone()
    phone.countRead()
    if phone.faults.hangsReads { try await hang() }
    try phone.receive(.mtu(peer, attMTU))
    return phone.value(of: characteristic, for: peer)
  }

  /// Writes one chunk of a request.
  public func write(_ piece: [UInt8]) async throws {
    let phone = try openPhone()
    if phone.faults.failsWrites { throw LoopbackError("org.bluez.Error.Failed") }
    guard piece.count <= min(attMTU - 3, phone.faults.writeLimit) else {
      throw LoopbackError("Invalid attribute value length: \(piece.count)")
    }
    try phone.receive(.write(PhoneWrite(peer: peer, bytes: piece, mtu: attMTU)))
  }

  /// Returns the bearers that the phone offers.
  public func muxBearers() async throws -> [MuxBearer] { try openPhone().muxBearers }

  /// Opens a channel for a v2 mux.
  public func openMux(over bearer: MuxBearer) async throws -> any MuxChannel {
    let phone = try openPhone()
    guard !phone.faults.failingBearers.contains(bearer) else { throw LoopbackError("no \(bearer)") }
    let mux: any MuxChannel = try bearer == .l2cap ? phone.openMux(from: peer) : openValues()
    state.withLock { $0.mux = mux }
    return mux
  }

  private func openValues() -> GATTMuxChannel {
    let mtu = attMTU
    let peer = peer
    let channel = GATTMuxChannel(
      mux: .random(in: .min ... .max), peer: peer,
      bearer: .init(
        valueLimit: { Chunker.requestSize(mtu: mtu) },
        send: { [weak self] in try self?.openPhone().receive(muxValue: $0, mtu: mtu, from: peer) }, onClose: {}))
    state.withLock { $0.values = channel }
    return channel
  }

  /// Delivers a notification of a v2 mux, which may be for another central.
  func deliver(muxValue: [UInt8]) {
    let (channel, isOpen) = state.withLock { ($0.values, $0.isOpen) }
    guard isOpen, let value = MuxValue(muxValue), value.mux == channel?.mux else { return }
    channel?.deliver(value)
  }

  /// Closes the v2 mux and keeps the connection.
  public func dropMux() async { await state.withLock { $0.mux }?.close() }

  /// Closes the mux and the connection.
  public func disconnect() async {
    await dropMux()
    drop("disconnected")
  }

  // MARK: Called by the phone

  func isSubscribed(to characteristic: EdgeCoderCharacteristic) -> Bool {
    state.withLock { $0.isOpen && $0.subscriptions.contains(characteristic) }
  }

  func deliver(_ characteristic: EdgeCoderCharacteristic, _ value: [UInt8]) {
    source.yield(.notification(characteristic, Array(value.prefix(attMTU - 3))), orEndWith: .overflow)
  }

  func drop(_ reason: String) {
    let (wasOpen, phone) = state.withLock { state in
      defer { state.isOpen = false }
      return (state.isOpen, state.phone)
    }
    guard wasOpen else { return }
    state.withLock { $0.values }?.end()
    // Before the central, which may connect again at once: the phone sees the end of one link before the next begins.
    phone?.remove(self)
    source.yield(.disconnected(reason))
    source.finish()
  }

  private func openPhone() throws -> LoopbackPhone {
    let phone = state.withLock { $0.isOpen ? $0.phone : nil }
    guard let phone else { throw LoopbackError("not connected") }
    return phone
  }
}
