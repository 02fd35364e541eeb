public import BlueZ
internal import DurableFiles
internal import FoundationEssentials
internal import Glibc
internal import Streams
public import Timing

/// The bonds that a user of this host made for EdgeCoder, in a file of the state folder.
///
/// bluetoothd keeps every bond of an adapter in one list: those of headphones, those that another pairing agent agreed
/// to, and those of both EdgeCoder roles. This file lists the ones that a user made for a role, so that no other bond
/// opens a phone or receives a prompt. The file is read again when it has changed; while it is damaged or cannot be read,
/// no bond is in it.
///
/// ```swift
/// import BlueZ
///
/// let store = BondStore(folder: "/var/lib/edgeblue")
/// if let adapter = BluetoothAddress("00:AA:01:00:00:41"), let phone = BluetoothAddress("00:AA:01:00:00:42") {
///   try store.add(BondStore.Bond(adapter: adapter, peer: phone, role: .phone))
/// }
/// for bond in try store.bonds() { print(bond.peer, bond.role) }
/// ```
public final class BondStore: Sendable {
  /// The role of the peer in which a user has admitted it.
  public enum PeerRole: String, Sendable, Hashable, Codable, CaseIterable {
    /// A central that may send prompts to a phone of this host.
    case central
    /// A phone that may receive prompts from a central of this host.
    case phone
  }

  /// One bond that a user made for a role of the peer.
  public struct Bond: Sendable, Hashable {
    /// The address of the adapter of this host.
    public var adapter: BluetoothAddress
    /// The identity address of the peer.
    public var peer: BluetoothAddress
    /// The role of the peer.
    public var role: PeerRole
    /// The wall-clock time at which the bond was made, in Unix milliseconds.
    public var madeMs: Int64

    /// Creates a bond; the time is the present one by default.
    public init(
      adapter: BluetoothAddress, peer: BluetoothAddress, role: PeerRole, madeMs: Int64 = WallClock.unixMilliseconds()
    ) {
      self.adapter = adapter
      self.peer = peer
      self.role = role
      self.madeMs = madeMs
    }
  }

  private struct Record: Codable {
    var adapter: String
    var peer: String
    var role: PeerRole
    var madeMs: Int64
  }

  private struct Cache {
    var stamp: WholeFile.Stamp?
    var bonds: [Bond]
  }

  /// The largest file: some five hundred bonds, many more than a controller keeps.
  private static let limit = 64 << 10

  private let folder: String
  private let file: WholeFile
  private let cache = Lock<Cache?>(nil)

  /// Creates a store in a state folder without accessing the disk.
  public init(folder: String) {
    self.folder = folder
    file = WholeFile(path: folder + "/bonds.json", limit: Self.limit)
  }

  /// Returns all bonds in the file; none if the file does not exist.
  /// - Throws: `FileError`, or another error if the file is damaged.
  public func bonds() throws -> [Bond] {
    let stamp = try file.stamp()
    if let cached = cache.withLock({ $0 }), cached.stamp == stamp { return cached.bonds }
    let bonds = try read()
    cache.withLock { $0 = Cache(stamp: stamp, bonds: bonds) }
    return bonds
  }

  private func read() throws -> [Bond] {
    guard let data = try file.read() else { return [] }
    return try JSONDecoder().decode([Record].self, from: data).compactMap { record in
      guard let adapter = BluetoothAddress(record.adapter), let peer = BluetoothAddress(record.peer) else { return nil }
      return Bond(adapter: adapter, peer: peer, role: record.role, madeMs: record.madeMs)
    }
  }

  /// Returns the bond of a peer in a role; `nil` if there is none, and while the file cannot be read.
  func bond(of peer: BluetoothAddress?, at adapter: BluetoothAddress, as role: PeerRole) -> Bond? {
    guard let peer else { return nil }
    do {
      return try bonds().first { $0.peer == peer && $0.adapter == adapter && $0.role == role }
    } catch {
      return nil  // closed while the file is damaged; ``bonds()`` throws the reason at the start of a role
    }
  }

  /// Returns the times at which the peers of an adapter were admitted in a role; none while the file cannot be read.
  func admitted(at adapter: BluetoothAddress, as role: PeerRole) -> [BluetoothAddress: Int64] {
    do {
      let peers = try bonds().filter { $0.adapter == adapter && $0.role == role }
      return Dictionary(peers.map { ($0.peer, $0.madeMs) }, uniquingKeysWith: { $1 })
    } catch {
      return [:]
    }
  }

  /// Adds a bond durably; it replaces an older one of the same peer, adapter and role.
  /// - Throws: `FileError` when the folder cannot be used; another error if the file is damaged.
  public func add(_ bond: Bond) throws {
    try update { bonds in
      bonds.removeAll { $0.peer == bond.peer && $0.adapter == bond.adapter && $0.role == bond.role }
      bonds.append(bond)
    }
  }

  /// Removes the bonds of a peer at an adapter durably, in one role or in both.
  /// - Throws: `FileError` when the folder cannot be used; another error if the file is damaged.
  public func remove(_ peer: BluetoothAddress, at adapter: BluetoothAddress, as role: PeerRole? = nil) throws {
    // Without an entry nothing is created on the disk.
    guard try bonds().contains(where: { $0.peer == peer && $0.adapter == adapter }) else { return }
    try update { $0.removeAll { $0.peer == peer && $0.adapter == adapter && (role == nil || $0.role == role) } }
  }

  private func update(_ change: (inout [Bond]) -> Void) throws {
    try Disk().createFolder(folder)
    guard let lock = try FileLock(path: folder + "/bonds.lock", attempts: 400) else {
      throw FileError("locking \(folder)/bonds.lock", errno: EWOULDBLOCK)
    }
    defer { lock.release() }
    var bonds = try read()
    change(&bonds)
    let records = bonds.map {
      Record(adapter: $0.adapter.description, peer: $0.peer.description, role: $0.role, madeMs: $0.madeMs)
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try file.write(try encoder.encode(records))
    cache.withLock { $0 = nil }
  }
}
