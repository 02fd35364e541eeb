import ArgumentParser
import BlueZ

/// `edgeblue pair list`
struct PairListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the devices that have paired with this machine.")

  @OptionGroup var adapter: AdapterOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let bonds = try await Bonds.open(adapter).all
      if common.json {
        terminal.print(json: .object(["devices": .list(bonds.map(\.json))]))
        return
      }
      guard !bonds.isEmpty else { return terminal.say("No device has paired. `edgeblue pair` lets one.") }
      let names = bonds.map { $0.device.name?.printable ?? "(no name)" }
      let width = (names.map(\.count).max() ?? 0) + 2
      terminal.say(
        terminal.paint("NAME".padded(to: max(width, 6)) + "ADDRESS".padded(to: 19) + "ADAPTER".padded(to: 9), .bold))
      for (bond, name) in zip(bonds, names) {
        terminal.say(
          name.padded(to: max(width, 6)) + bond.address.padded(to: 19) + bond.adapter.padded(to: 9)
            + (bond.device.isConnected ? "connected" : ""))
      }
    }
  }
}

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

/// The devices that have paired, at one adapter or at all.
struct Bonds {
  struct Bond {
    let adapter: String
    let device: Device

    var address: String { device.address?.description ?? device.peer.description }

    var json: JSON {
      .object([
        "address": .string(address), "name": JSON(device.name), "adapter": .string(adapter),
        "connected": .bool(device.isConnected),
      ])
    }
  }

  let all: [Bond]

  static func open(_ options: AdapterOptions) async throws -> Bonds {
    let session = try await Session.open()
    let chosen = try await session.adapter(options.adapter)
    let adapters = options.adapter == nil ? session.adapters : [chosen]
    return Bonds(
      all: adapters.flatMap { adapter in
        adapter.bondedDevices.map { Bond(adapter: adapter.name ?? adapter.address.description, device: $0) }
      })
  }
}
