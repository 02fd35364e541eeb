import Agent
import ArgumentParser
import Foundation

/// The folder of recordings.
enum Recordings {
  static let help = """
    The default folder is `recordings` in STATE_DIRECTORY or, without it, in /var/lib/edgeblue for root and \
    ~/.local/state/edgeblue for other users.
    """

  /// Returns the folder that the user names, or the default one.
  /// - Throws: ``Failure`` if there is no default folder.
  static func path(_ named: String?) throws -> String {
    if let named { return named }
    let environment = ProcessInfo.processInfo.environment
    guard let usual = StateFolder.usualPath(environment: environment, isRoot: geteuid() == 0) else {
      throw Failure(
        "the folder of recordings is unknown: HOME is not set", hint: "name a folder, or set HOME", status: .badInput)
    }
    return usual + "/recordings"
  }
}

/// The option that names the folder of recordings.
struct RecordingsOptions: ParsableArguments {
  @Option(
    name: .customLong("in"), help: ArgumentHelp("The folder of the recordings.", valueName: "folder"),
    completion: .directory)
  var folder: String?
}
