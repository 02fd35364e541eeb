import Streams

@testable import EdgeCoder

/// The phone's end of a radio in memory: a ``PhoneTransport`` that joins ``PhoneService`` to ``LoopbackCentral``s.
///
/// It does to bytes what BlueZ does: notifications are cut off without a word at MTU − 3, and unless
/// `addressesSinglePeer` they reach everybody who is subscribed, while the phone is not told who that is.
final class LoopbackPhone: PhoneTransport {
  struct Sent: Sendable, Equatable {
    var characteristic: EdgeCoderCharacteristic
    var bytes: [UInt8]
    var peer: PeerID?
  }

  /// What goes wrong, and what a test wants to see of it.
  struct Faults: Sendable {
    /// Connection attempts that fail.
    var failingConnects = 0
    /// Connection attempts that never end.
    var hangingConnects = 0
    /// Why it does not pair, if it demands that.
    var refusesToPair: String?
    /// Bearers over which no v2 link can be opened.
    var failingBearers: Set<MuxBearer> = []
    /// A v2 link says welcome and ends.
    var endsLinksAtOnce = false
    /// A characteristic whose subscription never comes about.
    var hangingSubscription: EdgeCoderCharacteristic?
    /// Whether writes fail.
    var failsWrites = false
    /// The longest write taken; 510 on BlueZ before 5.70.
    var writeLimit = 512
    /// Called after each notification of a reply, with how many there were; may be used to cut the link.
    var afterNotification: (@Sendable (Int) -> Void)?
  }

  private struct State {
    var connections: [PeerID: LoopbackConnection] = [:]
    var values: [EdgeCoderCharacteristic: [UInt8]] = [:]
    var sent: [Sent] = []
    var replyChunks = 0
    var faults = Faults()
    var connects = 0
    var writesRefused = 0
  }

  let id: PhoneID
  let name: String
  let addressesSinglePeer: Bool
  let (events, source) = BoundedStream.make(of: PhoneEvent.self, limit: 4096, policy: .dropNewest)
  let linkBearers: [MuxBearer]
  private let offer: (stream: BoundedStream<any MuxChannel>, source: BoundedStream<any MuxChannel>.Source)?
  private let hub = Lock<MuxValueHub?>(nil)
  private let state = Lock(State())

  init(
    _ name: String = "phone", addressesSinglePeer: Bool = false, offersLink: Bool = false,
    over bearers: [MuxBearer] = [.l2cap]
  ) {
    linkBearers = offersLink ? bearers : []
    offer = offersLink ? BoundedStream.make(limit: 8, policy: .dropNewest) : nil
    id = PhoneID("/loopback/" + name)
    self.name = name
    self.addressesSinglePeer = addressesSinglePeer
    source.yield(.transportUp)
    guard let offer else { return }
    let radio = MuxValueHub.Radio(
      valueLimit: { Chunker.notificationSize(mtu: $0) },
      notify: { [weak self] value, peer in
        let connections = self?.state.withLock { Array($0.connections.values) } ?? []
        for connection in connections where !addressesSinglePeer || connection.peer == peer {
          connection.deliver(linkValue: value)
        }
      })
    hub.withLock { $0 = MuxValueHub(radio, source: offer.source) }
  }

  // MARK: PhoneTransport

  var links: BoundedStream<any MuxChannel>? { offer?.stream }

  func notify(_ characteristic: EdgeCoderCharacteristic, _ value: [UInt8], to peer: PeerID?) async throws {
    let (receivers, count, hook) = state.withLock { state -> ([LoopbackConnection], Int, (@Sendable (Int) -> Void)?) in
      state.sent.append(Sent(characteristic: characteristic, bytes: value, peer: peer))
      let receivers = state.connections.values.filter {
        (peer == nil || $0.peer == peer) && $0.isSubscribed(to: characteristic)
      }
      guard characteristic == .response else { return (receivers, 0, nil) }
      state.replyChunks += 1
      return (receivers, state.replyChunks, state.faults.afterNotification)
    }
    guard !receivers.isEmpty else { throw PhoneTransportError(.notSubscribed, "nobody is subscribed") }
    for receiver in receivers { receiver.deliver(characteristic, value) }
    hook?(count)
  }

  func setValue(_ value: [UInt8], of characteristic: EdgeCoderCharacteristic) async {
    state.withLock { $0.values[characteristic] = value }
  }

  // MARK: For the air

  func connect(_ peer: PeerID, mtu: Int) async throws -> LoopbackConnection {
    enum Fault { case none, fail, hang }
    let fault = state.withLock { state -> Fault in
      state.connects += 1
      if state.faults.failingConnects > 0 {
        state.faults.failingConnects -= 1
        return .fail
      }
      if state.faults.hangingConnects > 0 {
        state.faults.hangingConnects -= 1
        return .hang
      }
      return .none
    }
    switch fault {
    case .fail: throw LoopbackError("le-connection-abort-by-local")
    case .hang: try await hang()
    case .none: break
    }
    let connection = LoopbackConnection(phone: self, peer: peer, mtu: mtu)
    state.withLock { $0.connections[peer] = connection }
    source.yield(.connected(peer))
    return connection
  }

  /// A central wrote a value of a v2 link over GATT.
  func receive(linkValue: [UInt8], mtu: Int, from peer: PeerID) {
    let isOne = hub.withLock { $0 }?.receive(linkValue, mtu: mtu, from: peer)
    if isOne != true { state.withLock { $0.writesRefused += 1 } }
  }

  func openLink(from peer: PeerID) throws -> MemoryChannel {
    guard let offer else { throw LoopbackError("the phone takes no links") }
    let (near, far) = MemoryChannel.pair(peer: peer)
    if faults.endsLinksAtOnce {
      Task {
        _ = try await far.receive()
        try await far.send(MuxFrame.welcome(far.terms(inflates: false)).encoded())
        await far.close()
      }
      return near
    }
    guard offer.source.yield(far) else { throw LoopbackError("the phone takes no more links") }
    return near
  }

  func remove(_ connection: LoopbackConnection) {
    let wasThere = state.withLock { $0.connections.removeValue(forKey: connection.peer) != nil }
    guard wasThere else { return }
    hub.withLock { $0 }?.end(connection.peer)
    source.yield(.disconnected(connection.peer))
  }

  func receive(_ event: PhoneEvent) throws {
    guard source.yield(event) else { throw LoopbackError("the phone takes no more") }
  }

  func value(of characteristic: EdgeCoderCharacteristic) -> [UInt8] {
    state.withLock { $0.values[characteristic] ?? [] }
  }

  // MARK: For tests

  var faults: Faults {
    get { state.withLock { $0.faults } }
    set { state.withLock { $0.faults = newValue } }
  }

  var sent: [Sent] { state.withLock { $0.sent } }
  var writesRefused: Int { state.withLock { $0.writesRefused } }
  var connects: Int { state.withLock { $0.connects } }

  /// Cuts every link.
  func dropAll(_ reason: String = "radio lost") {
    for connection in state.withLock({ Array($0.connections.values) }) { connection.drop(reason) }
  }

  /// Ends all v2 links, and only them.
  func dropLinks() async {
    for connection in state.withLock({ Array($0.connections.values) }) { await connection.dropLink() }
  }

  /// Cuts one link.
  func drop(_ peer: PeerID, _ reason: String = "radio lost") {
    state.withLock { $0.connections[peer] }?.drop(reason)
  }

  /// bluetoothd dies and comes back.
  func restart() {
    source.yield(.transportDown("bluetoothd was restarted"))
    dropAll("bluetoothd was restarted")
    source.yield(.transportUp)
  }
}

struct LoopbackError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Never returns but by cancellation.
func hang() async throws {
  let (stream, continuation) = AsyncStream<Never>.makeStream()
  for await _ in stream {}
  continuation.finish()
  try Task.checkCancellation()
}
