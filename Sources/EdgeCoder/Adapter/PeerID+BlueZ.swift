import BlueZ

extension PeerID {
  init(_ peer: Peer) { self.init(peer.path.description) }

  /// The peer as BlueZ identifies it; `nil` for an identifier that does not come from BlueZ.
  var bluez: Peer? {
    do {
      return Peer(path: try .init(rawValue))
    } catch {
      return nil
    }
  }
}
