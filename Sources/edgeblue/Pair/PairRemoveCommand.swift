import ArgumentParser
import BlueZ

/// `edgeblue pair remove`
struct PairRemoveCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Forget a device that has paired; its link ends, and it has to pair again.")

  @Argument(
    help: "The device's address, as `edgeblue pair list` shows it.",
    transform: { text in
      guard let address = BluetoothAddress(text) else { throw ValidationError("'\(text)' is no Bluetooth address.") }
      return address
    })
  var address: BluetoothAddress
  @OptionGroup var adapter: AdapterOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let bonds = try await Bonds.open(adapter).all.filter { $0.device.address == address }
      guard !bonds.isEmpty else {
        throw Failure("\(address) has not paired", hint: "edgeblue pair list shows who has", status: .unavailable)
      }
      for bond in bonds {
        let name = bond.device.description.printable
        try await bond.device.remove()
        terminal.happened(
          "\(bond.adapter) has forgotten \(name)", "removed",
          ["address": .string(bond.address), "adapter": .string(bond.adapter)])
      }
    }
  }
}
