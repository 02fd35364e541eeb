import Agent
import ArgumentParser
import DurableFiles
import Foundation
import SpeedTest

/// The option that names the folder of the results and of the loop.
struct SpeedTestFolderOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The folder of the results and of the loop. Default: speedtest in STATE_DIRECTORY or, without it, in "
        + "/var/lib/edgeblue for root and ~/.local/state/edgeblue for other users.", valueName: "folder"),
    completion: .directory)
  var state: String?

  /// The folder, which need not exist.
  func folder() throws -> SpeedTestFolder {
    SpeedTestFolder(path: try StateFolder.path(named: state, of: "speed tests", below: "/speedtest"))
  }
}

/// The folder of the results of speed tests, and of the loop that repeats them.
struct SpeedTestFolder: Sendable {
  let path: String

  var archive: SpeedTestArchive { SpeedTestArchive(path: path + "/results") }
  /// The results that control servers have not confirmed yet.
  var outbox: SubmissionOutbox { SubmissionOutbox(path: path + "/submissions") }

  /// Creates the folder for its user only.
  func create() throws { try Disk().createFolder(path) }

  /// Takes the lock that one test at a time holds: two would measure half of the line each.
  /// - Throws: ``SpeedTestError`` with code `.busy` if another test runs.
  func lockTest() throws -> FileLock {
    try create()
    guard let lock = try FileLock(path: path + "/test.lock") else {
      throw SpeedTestError(
        .busy, "another speed test runs", hint: "two at a time would measure half of the line each")
    }
    return lock
  }
}
