import DurableFiles
import Foundation
import SpeedTest

extension SpeedTestFolder {
  /// The newest loop.
  var loop: LoopStore<LoopSettings> { LoopStore(path: path + "/loop.json") }
  /// The lock of the process that runs the loop, which publishes its live values in it.
  var loopLockPath: String { path + "/loop.lock" }

  /// Moves a loop that is over out of the way of a new one.
  func moveAside(_ state: LoopState) throws {
    let disk = Disk()
    let past = path + "/loops"
    try disk.createFolder(past)
    try disk.rename(loop.path, to: "\(past)/\(state.startMs)-\(state.id.uuidString.lowercased()).json")
    try disk.sync(folder: past)
    try disk.sync(folder: path)
  }

  /// Watches for a loop that is stored or continued, and for the end of a program that runs it.
  /// - Parameter isLive: `true` for the live values of that program, too.
  func watchLoop(isLive: Bool = false) throws -> FolderWatch {
    try create()
    return try FolderWatch(path: path, names: ["loop.json", "loop.lock"], reportsWrites: isLive)
  }

  // MARK: The end of a loop that an agent runs

  /// Watches for requests to end a loop.
  func watchStopRequest() throws -> FolderWatch { try FolderWatch(path: path, names: ["loop.stop"]) }

  /// The request to end a loop, which contains its identifier; an agent must not be ended for it.
  private var stopRequest: WholeFile { WholeFile(path: path + "/loop.stop", limit: 64) }

  /// Requests durably that the agent ends a loop for good.
  func requestStop(of loop: UUID) throws { try stopRequest.write(Data(loop.uuidString.utf8)) }

  /// Returns `true` if the end of a loop was requested.
  func isStopRequested(of loop: UUID) throws -> Bool {
    try stopRequest.read().map { String(decoding: $0, as: UTF8.self) } == loop.uuidString
  }

  /// Removes the request, which belongs to a loop that is over.
  func removeStopRequest() throws { try stopRequest.remove() }
}
