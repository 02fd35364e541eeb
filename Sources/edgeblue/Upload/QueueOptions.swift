import Agent
import ArgumentParser
import Foundation
import Uploads

/// The option that names the folder of the upload queue.
struct QueueOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The folder of the queue. Default: STATE_DIRECTORY or, without it, /var/lib/edgeblue for root and "
        + "~/.local/state/edgeblue for other users.", valueName: "folder"))
  var state: String?

  /// Opens the queue, and creates it if it does not exist.
  func open() throws -> QueueStore {
    let usual = StateFolder.usualPath(environment: ProcessInfo.processInfo.environment, isRoot: geteuid() == 0)
    guard let folder = state ?? usual else {
      throw Failure(
        "the folder of the queue is unknown: HOME is not set", hint: "name one with --state", status: .badInput)
    }
    do {
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw Failure("create the folder \(folder): \(error.localizedDescription)", status: .notPermitted)
    }
    return try QueueStore(in: folder)
  }
}

extension QueueStore {
  /// Opens the queue in a state folder.
  convenience init(in folder: String) throws { try self.init(path: folder + "/uploads.sqlite") }
}
