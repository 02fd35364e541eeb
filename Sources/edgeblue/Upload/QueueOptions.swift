import Agent
import ArgumentParser
import DurableFiles
import Foundation
import Uploads

/// The option that names the folder of the upload queue.
struct QueueOptions: ParsableArguments {
  @Option(help: .stateFolder("The folder of the queue."), completion: .directory)
  var state: String?

  init() {}

  init(state: String?) { self.state = state }

  /// The folder of the queue.
  /// - Throws: ``Failure`` if it is unknown.
  var folder: String {
    get throws { try StateFolder.path(named: state, of: "the queue") }
  }

  /// Opens the queue, and creates it if it does not exist.
  func open() throws -> QueueStore {
    let folder = try folder
    // As root, files of SQLite would stop the service whose folder this is.
    do throws(FileError) {
      try FolderOwner.assume(folder)
      try Disk().createFolder(folder)
    } catch {
      throw Failure(error)
    }
    return try QueueStore(in: folder)
  }

  /// Returns a copy of the queue for looking at it, which neither creates nor changes a file; empty if there is no queue.
  func look() throws -> QueueStore {
    let folder = try folder
    do throws(FileError) { try FolderOwner.assume(folder) } catch { throw Failure(error) }
    return try QueueStore.copy(of: QueueStore.path(in: folder))
  }

  /// Opens the queue, if it exists.
  func openIfExists() throws -> QueueStore? {
    let folder = try folder
    return FileManager.default.fileExists(atPath: QueueStore.path(in: folder)) ? try open() : nil
  }

  /// Opens the queue to change items of it; where there is no queue, there are no items, and none is created.
  func openForItems() throws -> QueueStore { try openIfExists() ?? look() }
}

extension QueueStore {
  /// Opens the queue in a state folder.
  convenience init(in folder: String) throws { try self.init(path: Self.path(in: folder)) }

  /// Returns the path of the queue in a state folder.
  static func path(in folder: String) -> String { folder + "/uploads.sqlite" }
}
