import Agent
import ArgumentParser
import EdgeCoder
import Foundation

/// The option that names the folder with the list of bonds that the user made.
struct BondOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The folder of the list of bonds. Default: STATE_DIRECTORY or, without it, /var/lib/edgeblue for root and "
        + "~/.local/state/edgeblue for other users.", valueName: "folder"))
  var state: String?

  /// Returns the list of bonds, without accessing the disk.
  func store() throws -> BondStore {
    BondStore(folder: try StateFolder.path(named: state, of: "the list of bonds"))
  }
}
