import BlueZ
import Glibc
import Streams

/// The L2CAP sockets of all programs over a fake, as the kernel has them: they outlive bluetoothd.
struct ChannelTable: Sendable {
  /// A PSM of an adapter.
  struct Place: Sendable, Hashable {
    var adapter: Int
    var psm: UInt16
  }

  struct Listener: Sendable {
    let place: Place
    let security: SecurityLevel
    let mtu: UInt16
    let backlog: Int
    /// The channels that the program has not accepted yet, and the addresses of their peers.
    var waiting: [(socket: Int, peer: L2CAPSocketAddress)] = []
  }

  /// One end of a channel.
  struct Channel: Sendable {
    /// The number of bytes from which on a buffer takes no further packet.
    private static let capacity = 64 * 1024

    let link: ChannelLink
    /// The socket of the other end.
    let peer: Int
    let receiveMTU: UInt16
    let sendMTU: UInt16
    /// The packets that have arrived.
    var received: [[UInt8]] = []
    /// The packets for which the peer has granted no credits yet.
    var unsent: [[UInt8]] = []
    var ending: Ending?

    /// Returns `true` if a buffer takes another packet.
    static func hasRoom(beside packets: [[UInt8]]) -> Bool { packets.reduce(0) { $0 + $1.count } < capacity }
  }

  /// The end of a channel: in order, or with the link.
  enum Ending: Sendable {
    case closed, lost(Int32)
  }

  enum Socket: Sendable {
    case idle
    case listening(Listener)
    case connecting(mtu: UInt16)
    case failed(Int32)
    case open(Channel)
  }

  private struct Entry: Sendable {
    var adapter: Int?
    /// The security that the program, or the peer, requires of the connection.
    var security = SecurityLevel.low
    var socket = Socket.idle
  }

  private var entries: [Int: Entry] = [:]
  private var nextID = 0
  /// The sockets that have changed, whose waiting tasks must look again.
  private var changed: Set<Int> = []
  /// The adapters to which nothing arrives.
  var stalled: Set<Int> = []

  /// Returns the sockets that have changed since the last call.
  mutating func takeChanged() -> Set<Int> {
    defer { changed = [] }
    return changed
  }

  subscript(_ id: Int) -> Socket? { entries[id]?.socket }

  /// The number of sockets of an adapter that programs hold.
  func count(at adapter: Int) -> Int { entries.values.count { $0.adapter == adapter } }

  // MARK: Opening

  mutating func open() -> Int {
    nextID += 1
    entries[nextID] = Entry()
    return nextID
  }

  /// - Parameter psm: The PSM, or 0 for a free one.
  /// - Returns: The error number; `nil` when the socket listens.
  mutating func listen(_ id: Int, at adapter: Int, psm: UInt16, _ make: (Place) -> Listener) -> Int32? {
    // As for a program without CAP_NET_BIND_SERVICE.
    guard psm == 0 || psm >= 0x80 else { return EACCES }
    let free = (UInt16(0x80)...0xff).first { listener(at: Place(adapter: adapter, psm: $0)) == nil }
    guard let chosen = psm == 0 ? free : psm else { return EINVAL }
    let place = Place(adapter: adapter, psm: chosen)
    guard listener(at: place) == nil else { return EADDRINUSE }
    entries[id] = Entry(adapter: adapter, socket: .listening(make(place)))
    return nil
  }

  mutating func beginConnecting(_ id: Int, at adapter: Int, mtu: UInt16, _ security: SecurityLevel) {
    entries[id] = Entry(adapter: adapter, security: security, socket: .connecting(mtu: mtu))
  }

  /// Ends an attempt; without effect on a socket that does not connect any more.
  /// - Parameter demanded: The security that the peer requires, where it is more than the program does.
  mutating func fail(_ id: Int, _ error: Int32, demanded: SecurityLevel = .low) {
    guard case .connecting = self[id], var entry = entries[id] else { return }
    entry.socket = .failed(error)
    entry.security = max(entry.security, demanded)
    entries[id] = entry
    changed.insert(id)
  }

  /// Returns the security that a listener requires; `nil` where none listens.
  func security(at place: Place) -> SecurityLevel? { listener(at: place)?.listener.security }

  /// Opens the channel of a connecting socket to a place, or fails its attempt.
  /// - Parameter own: The address of the socket's adapter as the listener sees it.
  mutating func connect(_ id: Int, to place: Place, over link: ChannelLink, as own: L2CAPSocketAddress) {
    guard case .connecting(let mtu) = self[id] else { return }
    guard let (host, found) = listener(at: place), found.waiting.count < found.backlog else {
      return fail(id, ECONNREFUSED)
    }
    var listener = found
    let guest = open()
    entries[guest] = Entry(
      adapter: place.adapter,
      socket: .open(Channel(link: link, peer: id, receiveMTU: listener.mtu, sendMTU: mtu)))
    entries[id]?.socket = .open(Channel(link: link, peer: guest, receiveMTU: mtu, sendMTU: listener.mtu))
    listener.waiting.append((guest, own))
    entries[host]?.socket = .listening(listener)
    changed.formUnion([id, host])
  }

  private func listener(at place: Place) -> (id: Int, listener: Listener)? {
    for (id, entry) in entries where entry.adapter == place.adapter {
      if case .listening(let listener) = entry.socket, listener.place == place { return (id, listener) }
    }
    return nil
  }

  mutating func accept(_ id: Int) -> (socket: Int, peer: L2CAPSocketAddress)? {
    guard case .listening(var listener) = self[id], !listener.waiting.isEmpty else { return nil }
    defer { entries[id]?.socket = .listening(listener) }
    return listener.waiting.removeFirst()
  }

  /// Returns the security that a socket requires; `nil` for one that is closed.
  func security(of id: Int) -> SecurityLevel? { entries[id]?.security }

  // MARK: Packets

  mutating func send(_ packet: [UInt8], from id: Int) -> SentPacket {
    guard case .open(var channel) = self[id] else { return .failed(EBADF) }
    switch channel.ending {
    case .closed?: return .failed(ENOTCONN)
    case .lost(let error)?: return .failed(error)
    case nil: break
    }
    guard Channel.hasRoom(beside: channel.unsent) else { return .full }
    channel.unsent.append(packet)
    entries[id]?.socket = .open(channel)
    deliver(from: id)
    return .all
  }

  mutating func receive(at id: Int) -> ReceivedPacket {
    guard case .open(var channel) = self[id] else { return .ended(nil) }
    guard !channel.received.isEmpty else {
      switch channel.ending {
      case .closed?: return .ended(nil)
      case .lost(let error)?: return .ended(error)
      case nil: return .nothing
      }
    }
    let packet = channel.received.removeFirst()
    entries[id]?.socket = .open(channel)
    // There are credits again.
    deliver(from: channel.peer)
    return .packet(packet)
  }

  /// Delivers what waits at an end of a channel, as far as the other one has space.
  private mutating func deliver(from id: Int) {
    guard case .open(var sender) = self[id], case .open(var receiver) = self[sender.peer],
      let adapter = entries[sender.peer]?.adapter, !stalled.contains(adapter)
    else { return }
    while !sender.unsent.isEmpty, Channel.hasRoom(beside: receiver.received) {
      receiver.received.append(sender.unsent.removeFirst())
    }
    entries[id]?.socket = .open(sender)
    entries[sender.peer]?.socket = .open(receiver)
    changed.formUnion([id, sender.peer])
  }

  /// Delivers everything that has waited.
  mutating func deliverAll() {
    for id in entries.keys.sorted() { deliver(from: id) }
  }

  // MARK: Ending

  /// Closes a socket of a program: a listener with the channels that were not accepted.
  mutating func close(_ id: Int) {
    guard let entry = entries.removeValue(forKey: id) else { return }
    changed.insert(id)
    switch entry.socket {
    case .open(let channel): end(channel.peer, .closed)
    case .listening(let listener): for (socket, _) in listener.waiting { close(socket) }
    case .idle, .connecting, .failed: break
    }
  }

  /// Ends the channels of an adapter.
  /// - Parameter link: The link that was lost; `nil` for all of the adapter.
  mutating func lose(_ link: ChannelLink?, at adapter: Int, _ error: Int32) {
    for (id, entry) in entries where entry.adapter == adapter {
      guard case .open(let channel) = entry.socket, link == nil || channel.link === link else { continue }
      end(id, .lost(error))
      // Where the link is not known any more, its other side is told here.
      if link == nil { end(channel.peer, .lost(ETIMEDOUT)) }
    }
  }

  private mutating func end(_ id: Int, _ ending: Ending) {
    guard case .open(var channel) = self[id], channel.ending == nil else { return }
    channel.ending = ending
    channel.unsent = []
    entries[id]?.socket = .open(channel)
    changed.insert(id)
  }
}

/// The link below channels: its identity, and its security.
final class ChannelLink: Sendable {
  let security = Lock(SecurityLevel.low)
}
