import DurableFiles
import Glibc

/// A folder with everything that survives a restart of the agent: its mode, its events, its background tasks, and its
/// state at a coordinator.
///
/// One agent at a time owns it: the folder is locked until the object is released or the process ends.
///
/// ```swift
/// let environment = ["HOME": "/home/user"]
/// guard let path = StateFolder.usualPath(environment: environment, isRoot: false) else { return }
/// let folder = try StateFolder(path: path)
/// print(try folder.modes.load().value.mode)
/// ```
public final class StateFolder: Sendable {
  /// The path of the folder.
  public let path: String
  private let lock: FileLock

  /// Locks a folder for this process, and creates it for its user only (mode 0700) if it does not exist.
  /// - Throws: ``AgentError`` with code `.storage` when the folder cannot be used, or every user of the host may write to
  ///   it, and `.alreadyRunning` when another agent owns it.
  public init(path: String) throws(AgentError) {
    let path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    self.path = path
    do throws(FileError) {
      try Disk().createFolder(path)
      guard try !Disk().isOpenToAll(path) else {
        throw FileError("using \(path), which every user may change", errno: EPERM)
      }
      guard let lock = try FileLock(path: path + "/lock") else {
        throw FileError("locking \(path)/lock", errno: EWOULDBLOCK)
      }
      self.lock = lock
    } catch {
      guard error.errno == EWOULDBLOCK else { throw AgentError(error) }
      throw AgentError(.alreadyRunning, "another agent uses the folder \(path)")
    }
  }

  /// The path of the file of the events.
  public var events: String { path + "/events.jsonl" }

  /// The path of the file of this machine's identity at a coordinator.
  public var identity: String { path + "/identity.json" }

  /// The path of the file of the session with the coordinator.
  var coordinator: String { path + "/coordinator.json" }

  /// The path of the folder of the results that the coordinator does not have yet.
  var results: String { path + "/results" }

  /// Returns the default path of the folder.
  ///
  /// It is the folder that systemd created for the service (`STATE_DIRECTORY`), else `/var/lib/edgeblue` for root, else
  /// `edgeblue` in `XDG_STATE_HOME`, which is `~/.local/state` when it is not set.
  /// - Parameters:
  ///   - environment: The environment of the process.
  ///   - isRoot: Whether the process belongs to root.
  /// - Returns: The path, or `nil` if there is no home folder either.
  public static func usualPath(environment: [String: String], isRoot: Bool) -> String? {
    func set(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    // systemd separates several by colons.
    if let folder = set("STATE_DIRECTORY")?.split(separator: ":").first { return String(folder) }
    if isRoot { return "/var/lib/edgeblue" }
    if let state = set("XDG_STATE_HOME"), state.hasPrefix("/") { return state + "/edgeblue" }
    return set("HOME").map { $0 + "/.local/state/edgeblue" }
  }
}
