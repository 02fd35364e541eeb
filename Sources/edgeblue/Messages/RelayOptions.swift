import Agent
import ArgumentParser
import EdgeCoder

/// The options of both ends of a relay: the adapter, the PSM, and the bonds that count.
struct RelayOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The PSM of the relay, 128 to 255.", valueName: "number"))
  var psm = L2CAPRelayChannel.usualPSM
  @OptionGroup var access: AccessOptions<RelayPeers>
  @Option(help: .stateFolder("The folder of the list of bonds."), completion: .directory)
  var bonds: String?
  @OptionGroup var adapter: AdapterOptions

  func validate() throws { try checkRange(of: "--psm", psm, 0x80...0xff) }

  /// Returns the list of bonds, without accessing the disk.
  func store() throws -> BondStore {
    BondStore(folder: try StateFolder.path(named: bonds, of: "the list of bonds"))
  }
}
