import BlueZ

/// The state machine that recognizes a bond made under the identity of an admitted peer.
///
/// An admission belongs to one bond. A user who pairs a device again removes its bond first, and with it the admission;
/// so a new bond under an identity whose admission is still the old one was made by another device, or behind the user's
/// back.
struct BondWatch: Sendable {
  /// The time in which the admission of a bond follows the bond itself, in milliseconds; an older admission is not its.
  private static let newestMs: Int64 = 30_000

  /// The admission of each identity as it was before the newest bond.
  private var known: [BluetoothAddress: Int64]

  /// Creates a watch from the present admissions: the time of the bond by its identity address.
  init(_ admitted: [BluetoothAddress: Int64]) { known = admitted }

  /// Handles a new bond.
  /// - Parameters:
  ///   - address: The address of the bonded device, as bluetoothd has it.
  ///   - others: Further identity addresses that the device may have stated.
  ///   - admitted: The present admissions.
  ///   - nowMs: The wall-clock time in Unix milliseconds.
  /// - Returns: The identities whose admission ends.
  mutating func handle(
    bond address: BluetoothAddress, others: Set<BluetoothAddress> = [], admitted: [BluetoothAddress: Int64],
    nowMs: Int64
  ) -> Set<BluetoothAddress> {
    let claimed = others.union([address]).filter { identity in
      guard let madeMs = admitted[identity] else { return false }
      return known[identity] == madeMs || nowMs - madeMs > Self.newestMs
    }
    known = admitted.filter { !claimed.contains($0.key) }
    return claimed
  }
}
