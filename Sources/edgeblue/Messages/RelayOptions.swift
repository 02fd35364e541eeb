import Agent
import ArgumentParser
import BlueZ
import EdgeCoder

/// The options of both ends of a relay: the adapter, the PSM, and the bonds that count.
struct RelayOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The PSM of the relay, 128 to 255.", valueName: "number"))
  var psm = L2CAPRelayChannel.usualPSM
  @Option(
    help: ArgumentHelp(
      """
      The peers of a relay: open (all in range), encrypted (bonded ones), authenticated (ones bonded by passkey entry \
      or numeric comparison). Default: encrypted; on a virtual controller, which no radio reaches, open.
      """, valueName: "mode"),
    transform: AccessOptions.mode)
  var access: AccessMode?
  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp("Addresses of bonded peers; only these are admitted.", valueName: "address"),
    transform: reading("a Bluetooth address") { BluetoothAddress($0) })
  var allow: [BluetoothAddress] = []
  @Option(
    help: ArgumentHelp(
      "The folder of the list of bonds. Default: STATE_DIRECTORY or, without it, /var/lib/edgeblue for root and "
        + "~/.local/state/edgeblue for other users.", valueName: "folder"))
  var bonds: String?
  @OptionGroup var adapter: AdapterOptions

  func validate() throws {
    guard (0x80...0xff).contains(psm) else { throw ValidationError("--psm: allowed are 128 to 255.") }
    try AccessOptions.check(access, allow)
  }

  /// Returns the access policy for an adapter.
  func policy(isVirtual: Bool) -> AccessPolicy { AccessOptions.policy(access, allow, isVirtual: isVirtual) }

  /// Returns the list of bonds, without accessing the disk.
  func store() throws -> BondStore {
    BondStore(folder: try StateFolder.path(named: bonds, of: "the list of bonds"))
  }
}
