public import EdgeCoder
public import Streams

/// The radio of a phone in memory: a transport that connects a `PhoneService` with ``LoopbackCentral``s.
///
/// The transport behaves like BlueZ: notifications are truncated at MTU − 3 without an error. Without
/// ``addressesSinglePeer`` they reach all subscribers, and the phone does not know these.
///
/// ```swift
/// let phone = LoopbackPhone("Workshop", addressesSinglePeer: true)
/// phone.faults.failingConnects = 1
/// ```
public final class LoopbackPhone: PhoneTransport {
  /// A notification that the phone has sent.
  public struct Sent: Sendable, Equatable {
    /// The characteristic of the notification.
    public var characteristic: EdgeCoderCharacteristic
    /// The value of the notification.
    public var bytes: [UInt8]
    /// The receiver; `nil` for all subscribers.
    public var peer: PeerID?
  }

  /// The faults that a test injects.
  public struct Faults: Sendable {
    /// The number of connection attempts that fail.
    public var failingConnects = 0
    /// The number of connection attempts that never finish.
    public var hangingConnects = 0
    /// A Boolean value that indicates whether the attempts that never finish have a link, and hang while they discover
    /// services.
    public var hangsWithLink = false
    /// The reason why pairing fails; `nil` if the phone does not require pairing.
    public var refusesToPair: String?
    /// The bearers over which no v2 mux can be opened.
    public var failingBearers: Set<MuxBearer> = []
    /// A Boolean value that indicates whether a v2 mux closes after its WELCOME.
    public var closesMuxesAtOnce = false
    /// The characteristic whose subscription never finishes.
    public var hangingSubscription: EdgeCoderCharacteristic?
    /// A Boolean value that indicates whether reads never finish.
    public var hangsReads = false
    /// A Boolean value that indicates whether writes fail.
    public var failsWrites = false
    /// The limit on a write in bytes; 510 on BlueZ before 5.70.
    public var writeLimit = 512
    /// Called after each notification of a reply, with their number so far.
    public var afterNotification: (@Sendable (Int) -> Void)?
  }

  private struct State {
    var connections: [PeerID: LoopbackConnection] = [:]
    var values = ReadableValues()
    /// The notifications that the phone has sent.
    public var sent: [Sent] = []
    var replyChunks = 0
    var faults = Faults()
    var connects = 0
    var reads = 0
    var writesRefused = 0
  }

  /// The identifier of the phone.
  public let id: PhoneID
  /// The advertised name of the phone.
  public let name: String
  /// A Boolean value that indicates whether a notification can be sent to a single central.
  public let addressesSinglePeer: Bool
  /// The events of the radio, for one consumer.
  public let events: BoundedStream<PhoneTransportEvent>
  private let source: BoundedStream<PhoneTransportEvent>.Source
  let muxBearers: [MuxBearer]
  private let offer: (stream: BoundedStream<any MuxChannel>, source: BoundedStream<any MuxChannel>.Source)?
  private let hub = Lock<MuxValueHub?>(nil)
  private let state = Lock(State())

  /// Creates a phone that is up.
  /// - Parameters:
  ///   - name: The advertised name.
  ///   - addressesSinglePeer: Whether a notification can be sent to a single central.
  ///   - muxBearers: The bearers over which the phone offers v2 muxes.
  public init(_ name: String = "phone", addressesSinglePeer: Bool = false, muxBearers: [MuxBearer] = []) {
    (events, source) = BoundedStream.make(of: PhoneTransportEvent.self, limit: 4096, policy: .dropNewest)
    self.muxBearers = muxBearers
    offer = !muxBearers.isEmpty ? BoundedStream.make(limit: 8, policy: .dropNewest) : nil
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
          connection.deliver(muxValue: value)
        }
      })
    hub.withLock { $0 = MuxValueHub(radio, source: offer.source) }
  }

  // MARK: PhoneTransport

  /// The channels of the v2 muxes that centrals open.
  public var muxChannels: BoundedStream<any MuxChannel>? { offer?.stream }

  /// Delivers a notification to the subscribed centrals.
  public func notify(_ characteristic: EdgeCoderCharacteristic, _ value: [UInt8], to peer: PeerID?) async throws {
    let (receivers, count, hook) = state.withLock { state -> ([LoopbackConnection], Int, (@Sendable (Int) -> Void)?) in
      state.sent.append(Sent(characteristic: characteristic, bytes: value, peer: peer))
      let receivers = state.connections.values.filter {
        (peer == nil || $0.peer == peer) && $0.isSubscribed(to: characteristic)
      }
      guard characteristic == .response else { return (receivers, 0, nil) }
      state.replyChunks += 1
      return (receivers, state.replyChunks, state.faults.afterNotification)
    }
    guard !receivers.isEmpty else { throw PhoneTransportError(.notSubscribed, "no central is subscribed") }
    for receiver in receivers { receiver.deliver(characteristic, value) }
    hook?(count)
  }

  /// Sets the value that reads of a characteristic return, for one central or for all.
  public func setValue(_ value: [UInt8], of characteristic: EdgeCoderCharacteristic, for peer: PeerID?) async {
    state.withLock { $0.values.set(value, of: characteristic, for: peer) }
  }

  // MARK: Connections

  /// Connects a central by hand, without a ``LoopbackCentral``.
  public func connect(_ peer: PeerID, mtu: Int) async throws -> LoopbackConnection {
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

  /// Returns `true` if a central has a link to the phone.
  func isLinked(to peer: PeerID) -> Bool {
    state.withLock { $0.connections[peer] != nil || $0.faults.hangsWithLink }
  }

  /// Receives a value of a v2 mux over GATT.
  public func receive(muxValue: [UInt8], mtu: Int, from peer: PeerID) {
    let isAccepted = hub.withLock { $0 }?.receive(muxValue, mtu: mtu, from: peer)
    if isAccepted != true { state.withLock { $0.writesRefused += 1 } }
  }

  func openMux(from peer: PeerID) throws -> MemoryChannel {
    guard let offer else { throw LoopbackError("the phone offers no mux") }
    let (near, far) = MemoryChannel.pair(peer: peer)
    if faults.closesMuxesAtOnce {
      Task {
        _ = try await far.receive()
        try await far.send(MuxFrame.welcome(far.terms(inflates: false)).encoded())
        await far.close()
      }
      return near
    }
    guard offer.source.yield(far) else { throw LoopbackError("the phone accepts no more muxes") }
    return near
  }

  func remove(_ connection: LoopbackConnection) {
    let wasThere = state.withLock { state in
      guard state.connections[connection.peer] === connection else { return false }
      state.connections[connection.peer] = nil
      return true
    }
    guard wasThere else { return }
    hub.withLock { $0 }?.end(connection.peer)
    state.withLock { $0.values.forget(connection.peer) }
    source.yield(.disconnected(connection.peer))
  }

  /// Delivers an event of the radio to the phone.
  public func receive(_ event: PhoneTransportEvent) throws {
    guard source.yield(event) else { throw LoopbackError("the event stream of the phone is full") }
  }

  func countRead() { state.withLock { $0.reads += 1 } }

  /// Returns the value that a read of a characteristic by a central returns.
  public func value(of characteristic: EdgeCoderCharacteristic, for peer: PeerID) -> [UInt8] {
    state.withLock { $0.values.value(of: characteristic, for: peer) }
  }

  // MARK: For tests

  /// The faults that the test injects.
  public var faults: Faults {
    get { state.withLock { $0.faults } }
    set { state.withLock { $0.faults = newValue } }
  }

  /// The notifications that the phone has sent.
  public var sent: [Sent] { state.withLock { $0.sent } }
  /// The number of writes that the phone has refused.
  public var writesRefused: Int { state.withLock { $0.writesRefused } }
  /// The number of reads so far.
  public var reads: Int { state.withLock { $0.reads } }
  /// The number of connection attempts so far.
  public var connects: Int { state.withLock { $0.connects } }

  /// Drops the connections of all centrals.
  public func dropAll(_ reason: String = "radio lost") {
    for connection in state.withLock({ Array($0.connections.values) }) { connection.drop(reason) }
  }

  /// Closes all v2 muxes and keeps the connections.
  public func dropMuxes() async {
    for connection in state.withLock({ Array($0.connections.values) }) { await connection.dropMux() }
  }

  /// Drops the connection of one central.
  public func drop(_ peer: PeerID, _ reason: String = "radio lost") {
    state.withLock { $0.connections[peer] }?.drop(reason)
  }

  /// Simulates a restart of bluetoothd.
  public func restart() {
    source.yield(.transportDown("bluetoothd was restarted"))
    dropAll("bluetoothd was restarted")
    source.yield(.transportUp)
  }
}

/// The error of an operation of the radio in memory.
public struct LoopbackError: Error, CustomStringConvertible {
  /// The description of the error.
  public let description: String

  /// Creates an error with a description.
  public init(_ description: String) { self.description = description }
}

/// Waits until the task is cancelled.
/// - Throws: `CancellationError`.
public func hang() async throws {
  let (stream, continuation) = AsyncStream<Never>.makeStream()
  for await _ in stream {}
  continuation.finish()
  try Task.checkCancellation()
}
