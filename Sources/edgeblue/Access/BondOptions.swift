import Agent
import ArgumentParser
import EdgeCoder
import Foundation

/// The option that names the folder with the list of bonds that the user made.
struct BondOptions: ParsableArguments {
  @Option(help: .stateFolder("The folder of the list of bonds."), completion: .directory)
  var state: String?

  /// Returns the list of bonds, without accessing the disk.
  func store() throws -> BondStore {
    BondStore(folder: try StateFolder.path(named: state, of: "the list of bonds"))
  }
}
