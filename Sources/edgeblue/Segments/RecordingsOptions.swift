import Agent
import ArgumentParser
import Foundation

/// Where recordings are kept.
enum Recordings {
  static let help = """
    Recordings are kept in the folder `recordings` of STATE_DIRECTORY, else of /var/lib/edgeblue for root and of \
    ~/.local/state/edgeblue for others, unless another folder is named.
    """

  /// The folder that a person has named, or the usual one.
  /// - Throws: ``Failure`` when nobody has said where it is.
  static func path(_ named: String?) throws -> String {
    if let named { return named }
    let environment = ProcessInfo.processInfo.environment
    guard let usual = StateFolder.usualPath(environment: environment, isRoot: geteuid() == 0) else {
      throw Failure("there is no folder for recordings", hint: "name one, or set HOME", status: .badInput)
    }
    return usual + "/recordings"
  }
}

/// Which recordings to look at.
struct RecordingsOptions: ParsableArguments {
  @Option(name: .customLong("in"), help: ArgumentHelp("The folder of the recordings.", valueName: "folder"))
  var folder: String?
}
