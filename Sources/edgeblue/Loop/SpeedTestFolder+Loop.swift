import DurableFiles
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
}
