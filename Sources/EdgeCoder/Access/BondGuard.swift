package import BlueZ
import Streams
import Timing

/// The guard of the bonds that a user made with peers in one role: it ends an admission whose keys were replaced.
///
/// A peer states its identity address while it pairs, and bluetoothd replaces the keys that it had for this address.
/// Whoever made the new bond, it is not the one that the user admitted, so the admission ends.
package struct BondGuard: Sendable {
  private let adapter: Adapter
  private let bonds: BondStore
  private let role: BondStore.PeerRole
  private let connections: KernelConnections
  private let known: [BluetoothAddress: Int64]
  private let made: BoundedStream<Device>

  /// Creates a guard that knows the present admissions, and notices each bond from now on.
  package init(
    _ adapter: Adapter, _ bonds: BondStore, of role: BondStore.PeerRole, connections: @escaping KernelConnections
  ) {
    self.adapter = adapter
    self.bonds = bonds
    self.role = role
    self.connections = connections
    made = adapter.newBonds()
    known = bonds.admitted(at: adapter.address, as: role)
  }

  /// Ends admissions until the task is cancelled, and disconnects the devices that claimed their identities.
  /// - Parameter onClaim: Called with each of these devices.
  package func run(onClaim: @Sendable (Peer) -> Void = { _ in }) async {
    var watch = BondWatch(known)
    for await device in made {
      guard let address = device.address else { continue }
      let claimed = watch.handle(
        bond: address, others: connectedUnderOtherAddresses(than: address),
        admitted: bonds.admitted(at: adapter.address, as: role), nowMs: WallClock.unixMilliseconds())
      for address in claimed { await revoke(address, device, onClaim) }
    }
  }

  private func revoke(_ address: BluetoothAddress, _ device: Device, _ onClaim: (Peer) -> Void) async {
    do {
      try bonds.remove(address, at: adapter.address, as: role)
    } catch {
      // The list cannot be written, so that all that is left is to report the claim and to disconnect.
    }
    onClaim(device.peer)
    do {
      try await device.disconnect()
    } catch {
      // The device or the adapter is gone, and the connection with it.
    }
  }

  /// Returns the addresses under which the kernel has a connection and bluetoothd has none: identities that a peer has
  /// just stated. bluetoothd uses them from its next start on.
  private func connectedUnderOtherAddresses(than address: BluetoothAddress) -> Set<BluetoothAddress> {
    do {
      let addresses = try connections(adapter).filter { $0.isCentral == (role == .phone) }.map(\.address)
      return Set(addresses.filter { $0 != address && adapter.device($0)?.isConnected != true })
    } catch {
      return []  // the adapter is gone, and its connections with it
    }
  }
}
