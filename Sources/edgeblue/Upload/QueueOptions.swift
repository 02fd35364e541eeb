import Agent
import ArgumentParser
import Foundation
import Uploads

/// Where the queue is.
struct QueueOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The folder with the queue. Without it: what systemd made for the service, /var/lib/edgeblue for root, else "
        + "~/.local/state/edgeblue.", valueName: "folder"))
  var state: String?

  /// Opens the queue, and makes it if it is not there.
  func open() throws -> QueueStore {
    let usual = StateFolder.usualPath(environment: ProcessInfo.processInfo.environment, isRoot: geteuid() == 0)
    guard let folder = state ?? usual else {
      throw Failure("there is no folder for the queue", hint: "name one with --state", status: .badInput)
    }
    do {
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw Failure("the folder \(folder) cannot be made: \(error.localizedDescription)", status: .notPermitted)
    }
    return try QueueStore(in: folder)
  }
}

extension QueueStore {
  /// The queue in a state folder.
  convenience init(in folder: String) throws { try self.init(path: folder + "/uploads.sqlite") }
}
