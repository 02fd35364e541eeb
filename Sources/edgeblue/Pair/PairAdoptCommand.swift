import ArgumentParser
import BlueZ
import EdgeCoder

/// `edgeblue pair adopt`
struct PairAdoptCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "adopt", abstract: "Use an existing bond, which was made without `edgeblue pair`, in a role.",
    discussion: """
      Only for a device that you have paired yourself, for example before an update of EdgeBlue. `edgeblue pair list` \
      shows the bonds and their use.
      """)

  @Argument(
    help: "The device's address, as `edgeblue pair list` shows it.",
    completion: .devices, transform: reading("a Bluetooth address") { BluetoothAddress($0) })
  var address: BluetoothAddress
  @Option(
    name: .customLong("as"),
    help: ArgumentHelp(
      "The role of the device: central (it may send prompts to this machine's phone) or phone (it receives prompts).",
      valueName: "role"),
    completion: .words(BondStore.PeerRole.self), transform: named)
  var role: BondStore.PeerRole
  @OptionGroup var adapter: AdapterOptions
  @OptionGroup var bonds: BondOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let store = try bonds.store()
      let found = try await Bonds.open(adapter, store).all.filter { $0.device.address == address }
      guard !found.isEmpty else {
        throw Failure(
          "\(address) is not bonded", hint: "`edgeblue pair list` lists the bonded devices", status: .unavailable)
      }
      for bond in found {
        try store.add(.init(adapter: bond.adapter.address, peer: address, role: role))
        terminal.happened(
          "\(bond.adapterName): \(bond.device.description.printable) is used as \(role.rawValue) now", "adopted",
          [
            "address": .string(bond.address), "adapter": .string(bond.adapterName), "role": .string(role.rawValue),
          ])
      }
    }
  }
}
