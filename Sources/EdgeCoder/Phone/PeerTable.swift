/// The centrals of a phone: their MTU, their subscriptions, and the request that each is writing.
struct PeerTable: Sendable {
  struct Peer: Sendable {
    var mtu: Int?
    /// The instant at which the peer connected; `nil` if it was not reported.
    var connectedAt: Duration?
    var subscriptions: Set<EdgeCoderCharacteristic> = []
    var assembler = WriteAssembler()
    var scanner: JSONObjectScanner
  }

  let limit: Int
  let makeScanner: @Sendable () -> JSONObjectScanner
  private(set) var peers: [PeerID: Peer] = [:]
  /// The subscriptions that BlueZ does not attribute to a peer, with their MTU.
  private var anonymous: [EdgeCoderCharacteristic: Int?] = [:]

  init(limit: Int, makeScanner: @Sendable @escaping () -> JSONObjectScanner) {
    self.limit = limit
    self.makeScanner = makeScanner
  }

  /// Changes the entry of a peer, which is added if it is new.
  /// - Returns: `nil` if the table is full.
  mutating func update<Result>(_ id: PeerID, _ change: (inout Peer) -> Result) -> Result? {
    if peers[id] == nil {
      guard peers.count < limit else { return nil }
      peers[id] = Peer(scanner: makeScanner())
    }
    return peers[id].map { peer in
      var peer = peer
      peers[id] = nil  // so that the buffer of the scanner is changed in place
      let result = change(&peer)
      peers[id] = peer
      return result
    }
  }

  mutating func remove(_ id: PeerID) -> Peer? { peers.removeValue(forKey: id) }

  mutating func removeAll() {
    peers = [:]
    anonymous = [:]
  }

  mutating func subscribe(_ id: PeerID?, _ characteristic: EdgeCoderCharacteristic, mtu: Int?) {
    guard let id else {
      anonymous[characteristic] = .some(mtu)
      return
    }
    _ = update(id) { peer in
      peer.subscriptions.insert(characteristic)
      if let mtu { peer.mtu = mtu }
    }
  }

  mutating func unsubscribe(_ id: PeerID?, _ characteristic: EdgeCoderCharacteristic) {
    if let id {
      peers[id]?.subscriptions.remove(characteristic)
    } else {
      anonymous[characteristic] = nil
      for id in peers.keys { peers[id]?.subscriptions.remove(characteristic) }
    }
  }

  func isSubscribed(to characteristic: EdgeCoderCharacteristic) -> Bool {
    anonymous.keys.contains(characteristic) || peers.values.contains { $0.subscriptions.contains(characteristic) }
  }

  /// Returns the smallest MTU for a notification to one peer or, with `nil`, to all.
  ///
  /// For all, it is the smallest MTU of the connected peers and the sockets: where BlueZ does not report the subscribers,
  /// every peer may be one, and bluetoothd cuts a longer value at the peer's MTU without a word. A peer that has neither
  /// written nor read has no known MTU; beside another peer it counts with the smallest one.
  func mtu(for id: PeerID?) -> Int? {
    if let id, let mtu = peers[id]?.mtu { return mtu }
    if id == nil, peers.count > 1, peers.values.contains(where: { $0.mtu == nil }) { return Chunker.minimumMTU }
    return (peers.values.compactMap(\.mtu) + anonymous.values.compactMap(\.self)).min()
  }

  /// Returns `true` if a peer has connected after an instant.
  func hasConnected(since start: Duration) -> Bool { peers.values.contains { ($0.connectedAt ?? .zero) > start } }

  /// Discards the requests that exceeded the idle limit.
  mutating func expire(at now: Duration) -> [JSONObjectScanner.Refusal] {
    peers.keys.compactMap { peers[$0]?.scanner.expire(at: now) }
  }
}
