import ArgumentParser

/// `edgeblue pair list`
struct PairListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the bonded devices.")

  @OptionGroup var adapter: AdapterOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let bonds = try await Bonds.open(adapter).all
      if common.json {
        terminal.print(json: .object(["devices": .list(bonds.map(\.json))]))
        return
      }
      guard !bonds.isEmpty else { return terminal.say("There are no bonded devices. `edgeblue pair` lets one pair.") }
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
