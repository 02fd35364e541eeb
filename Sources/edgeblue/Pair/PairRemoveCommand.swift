import ArgumentParser
import BlueZ

/// `edgeblue pair remove`
struct PairRemoveCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Remove a bond; the device is disconnected, and has to pair again.")

  @Argument(
    help: "The device's address, as `edgeblue pair list` shows it.",
    completion: .devices, transform: reading("a Bluetooth address") { BluetoothAddress($0) })
  var address: BluetoothAddress
  @OptionGroup var adapter: AdapterOptions
  @OptionGroup var bonds: BondOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let store = try self.bonds.store()
      let bonds = try await Bonds.open(adapter, store).all.filter { $0.device.address == address }
      guard !bonds.isEmpty else {
        throw Failure(
          "\(address) is not bonded", hint: "`edgeblue pair list` lists the bonded devices", status: .unavailable)
      }
      for bond in bonds {
        let name = bond.device.description.printable
        // First, so that the address is not admitted when another device bonds under it.
        try store.remove(address, at: bond.adapter.address)
        try await bond.device.remove()
        terminal.happened(
          "\(bond.adapterName): removed the bond with \(name)", "removed",
          ["address": .string(bond.address), "adapter": .string(bond.adapterName)])
      }
    }
  }
}
