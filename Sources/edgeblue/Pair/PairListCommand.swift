import ArgumentParser

/// `edgeblue pair list`
struct PairListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the bonded devices, and the roles in which they are used.",
    discussion: """
      A bond that is used as `central` opens `edgeblue phone`; one that is used as `phone` receives prompts of \
      `edgeblue central`. Other bonds, such as those of headphones, do neither; `edgeblue pair adopt` changes that. Run \
      by root, the command also marks bonds from legacy pairing, whose keys an eavesdropper of the pairing can have.
      """)

  @OptionGroup var adapter: AdapterOptions
  @OptionGroup var bonds: BondOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let bonds = try await Bonds.open(adapter, try self.bonds.store()).all
      if common.json {
        terminal.print(json: .object(["devices": .array(bonds.map(\.json))]))
        return
      }
      guard !bonds.isEmpty else { return terminal.say("There are no bonded devices. `edgeblue pair` lets one pair.") }
      let names = bonds.map { $0.device.name?.printable ?? "(no name)" }
      let width = (names.map(\.count).max() ?? 0) + 2
      terminal.say(
        terminal.paint(
          "NAME".padded(to: max(width, 6)) + "ADDRESS".padded(to: 19) + "ADAPTER".padded(to: 9) + "USED AS", .bold))
      for (bond, name) in zip(bonds, names) {
        terminal.say(
          name.padded(to: max(width, 6)) + bond.address.padded(to: 19) + bond.adapterName.padded(to: 9)
            + (bond.roles.isEmpty ? "not used" : bond.roles.map(\.rawValue).joined(separator: ", "))
            + (bond.device.isConnected ? "  connected" : "") + (bond.key?.isSecure == false ? "  legacy pairing" : ""))
      }
    }
  }
}
