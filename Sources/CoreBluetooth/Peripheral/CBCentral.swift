import BlueZ

/// A remote central that uses the services of this program.
open class CBCentral: CBPeer, @unchecked Sendable {
  // Sound: the stored properties never change.

  /// The largest length of a value for one notification, in bytes: MTU − 3, at most 512.
  public let maximumUpdateValueLength: Int
  let peer: Peer

  init(_ peer: Peer, mtu: Int) {
    self.peer = peer
    maximumUpdateValueLength = min(mtu - 3, 512)
    // Every central in bluetoothd has an address; the random identifier is for one that it forgot meanwhile.
    super.init(identifier: peer.address?.identifier ?? UUID())
  }

  /// Returns `true` if both are the same device.
  open override func isEqual(_ object: Any?) -> Bool { (object as? CBCentral)?.identifier == identifier }

  /// The hash value of the identifier.
  open override var hash: Int { identifier.hashValue }
}
