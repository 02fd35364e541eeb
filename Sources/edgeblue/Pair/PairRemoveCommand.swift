import ArgumentParser
import BlueZ

/// `edgeblue pair remove`
struct PairRemoveCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Remove a bond; the device is disconnected, and has to pair again.")

  @Argument(
    help: "The device's address, as `edgeblue pair list` shows it.",
    transform: { text in
      guard let address = BluetoothAddress(text) else { throw ValidationError("'\(text)' is not a Bluetooth address.") }
      return address
    })
  var address: BluetoothAddress
  @OptionGroup var adapter: AdapterOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let bonds = try await Bonds.open(adapter).all.filter { $0.device.address == address }
      guard !bonds.isEmpty else {
        throw Failure(
          "\(address) is not bonded", hint: "`edgeblue pair list` lists the bonded devices", status: .unavailable)
      }
      for bond in bonds {
        let name = bond.device.description.printable
        try await bond.device.remove()
        terminal.happened(
          "\(bond.adapter): removed the bond with \(name)", "removed",
          ["address": .string(bond.address), "adapter": .string(bond.adapter)])
      }
    }
  }
}
